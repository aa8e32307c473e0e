import { count, safeLine } from "../../../kit/command-line/text.ts";
import { lookUp, type Tolerant, type TurnEndedData, type Usage, type UserAction } from "../../protocol/index.ts";
import type { Style } from "./style.ts";

/** How a turn ended, what it took, and for a failure what decided it and who has to act. */
export function showEnd(data: Tolerant<TurnEndedData>, style: Style): string {
  const { status, cancelled_by: by, failure, usage, cost_usd: cost, counts, duration_ms: durationMs } = data;
  const paint = lookUp({ completed: style.good, failed: style.bad }, status) ?? style.notice;
  const what = failure === undefined ? (by === undefined ? status : `${status} (${by})`) : `${status}: ${failure.code}`;
  const facts = [
    formatDuration(durationMs),
    count(counts.tools, "tool call"),
    ...(counts.retries === 0 ? [] : [count(counts.retries, "retry", "retries")]),
    ...(usage === undefined ? [] : [formatUsage(usage)]),
    ...(cost === undefined || cost === 0 ? [] : [`$${cost.toFixed(4)}`]),
  ];
  return [`${paint(what)} ${style.dim(`in ${facts.join(", ")}`)}`, ...explainFailure(data, style), ""].join("\n");
}

function explainFailure({ failure }: Tolerant<TurnEndedData>, style: Style): string[] {
  if (failure === undefined) return [];
  return [
    `  ${safeLine(failure.message)}`,
    `  ${failure.retryable ? "a retry may help" : "a retry by itself does not help"}${lookUp(ADVICE, failure.user_action) ?? ""}`,
    ...failure.evidence.map(({ source, line: number, text }) =>
      style.dim(`  ${source}${number === undefined ? "" : `:${number}`}  ${safeLine(text)}`),
    ),
  ];
}

/** Advice by `user_action`. */
const ADVICE: Record<UserAction, string> = {
  none: "",
  retry: "",
  settings: ": change the settings",
  credentials: ": correct the credentials",
  billing: ": look at the provider's billing",
  shorten: ": shorten the input",
  operator: ": ask the operator of turnd",
};

/** `12 345 tokens in (10 000 cached), 678 out`. */
export function formatUsage(usage: Usage): string {
  const cached = usage.cached_input_tokens === 0 ? "" : ` (${usage.cached_input_tokens} cached)`;
  return `${usage.input_tokens} tokens in${cached}, ${usage.output_tokens} out`;
}

/** `1.2 s`, `3 min 20 s`. */
export function formatDuration(durationMs: number): string {
  // Rounded before it is divided: there is no 60.0 s, and no 1 min 60 s.
  const tenths = Math.round(durationMs / 100);
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
  const seconds = Math.round(durationMs / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
