import { warningEvent, type Native, type Usage } from "../../../../protocol/index.ts";
import type { TranslatedEvent } from "../../contract/translator.ts";
import type { HistoryWatch } from "../translate/history.ts";
import { PlanUpdate, TokenUsage, type Notification } from "./records.ts";

/** In every turn with a model that the server has no table of. */
const UNKNOWN_MODEL = /^Model metadata for `[^`]*` not found\. Defaulting to fallback metadata/;

/** What a server says of a turn besides its items. */
export interface TurnNotices {
  warning(message: unknown, native: Native): TranslatedEvent[];
  plan(params: Notification["params"], native: Native): TranslatedEvent[];
  usage(params: Notification["params"]): void;
  /** The total of the thread, as it was said last. */
  total(): Usage | undefined;
}

/** Follows what a server says of one turn besides its items. */
export function createTurnNotices(history: HistoryWatch): TurnNotices {
  const said = new Set<string>();
  let plan: string | undefined;
  let total: Usage | undefined;
  return {
    warning(message, native) {
      if (typeof message !== "string" || said.has(message) || UNKNOWN_MODEL.test(message)) return [];
      said.add(message);
      return [...(history.read(message, native) ?? [{ ...warningEvent("cli_warning", message), native }])];
    },
    plan(params, native) {
      const { data } = PlanUpdate.safeParse(params);
      if (data === undefined) return [];
      const entries = data.plan.map(({ step, status }) => ({ content: step, status: STATUS[status] ?? "pending" }));
      const now = JSON.stringify(entries);
      if (now === plan) return [];
      plan = now;
      return [{ type: "plan.updated", data: { entries }, native }];
    },
    usage(params) {
      const { data } = TokenUsage.safeParse(params);
      if (data === undefined) return;
      const { inputTokens, cachedInputTokens, cacheWriteInputTokens, outputTokens, reasoningOutputTokens } =
        data.tokenUsage.total;
      total = {
        input_tokens: inputTokens,
        cached_input_tokens: cachedInputTokens,
        cache_write_tokens: cacheWriteInputTokens,
        output_tokens: outputTokens,
        reasoning_tokens: reasoningOutputTokens,
      };
    },
    total: () => total,
  };
}

const STATUS: Readonly<Record<string, "pending" | "in_progress" | "completed">> = {
  pending: "pending",
  inProgress: "in_progress",
  completed: "completed",
};
