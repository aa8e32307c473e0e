import type { LoggedEvent } from "../../src/turnd/protocol/index.ts";

/** One line for a person about one event. */
export function showEvent(event: LoggedEvent): string {
  return `${event.type.padEnd(16)} ${oneLine(describeEvent(event))}`.trimEnd();
}

function describeEvent(event: LoggedEvent): string {
  switch (event.type) {
    case "turn.started":
      return [event.data.cli.name, event.data.cli.version, event.data.mode, event.data.model].filter(Boolean).join(" ");
    case "session.bound":
      return `${event.data.native_session_id}${event.data.resumed ? " (resumed)" : ""}`;
    case "session.degraded":
      return `${event.data.requested}: ${event.data.reason}`;
    case "step.started":
      return `step ${event.data.index}`;
    case "step.ended":
      return `step ${event.data.index}: ${event.data.reason}`;
    case "message":
    case "reasoning":
      return event.data.text;
    case "tool.started":
      return `${event.data.name} [${event.data.kind}] ${event.data.title ?? ""}`;
    case "tool.ended":
      return describeToolEnd(event.data);
    case "plan.updated":
      return event.data.entries.map(({ content, status }) => `${status}: ${content}`).join("; ");
    case "retry":
      return `${event.data.attempt}/${event.data.max ?? "?"} ${event.data.code}: ${event.data.message}`;
    case "message.delta":
    case "reasoning.delta":
    case "tool.output":
      return event.data.text;
    case "message.discarded":
      return `${event.data.message_id}: ${event.data.reason}`;
    case "approval.requested":
      return `${event.data.kind}: ${event.data.title}`;
    case "approval.resolved":
      return `${event.data.decision} by ${event.data.by}`;
    case "input.requested":
      return event.data.questions.map(({ text }) => text).join("; ");
    case "input.answered":
      return `by ${event.data.by}`;
    case "input.accepted":
      return `${event.data.kind} ${event.data.request_id}`;
    case "permission.denied":
    case "warning":
      return event.data.message;
    case "record.unknown":
      return `${event.data.reason}: ${event.data.line}`;
    case "turn.ended":
      return describeTurnEnd(event.data);
  }
}

type DataOf<T extends LoggedEvent["type"]> = Extract<LoggedEvent, { type: T }>["data"];

function describeToolEnd({ name, status, exit_code, changes, output, error }: DataOf<"tool.ended">): string {
  const exit = exit_code === undefined ? "" : ` (exit ${exit_code})`;
  const what = changes?.map(({ change, path }) => `${change} ${path}`).join(", ") ?? error ?? output?.text ?? "";
  return `${name} ${status}${exit} ${what}`;
}

function describeTurnEnd({ status, failure, counts, duration_ms }: DataOf<"turn.ended">): string {
  const reason = failure === undefined ? "" : ` ${failure.code}: ${failure.message}`;
  return `${status}${reason} (${counts.events} events, ${counts.tools} tools, ${(duration_ms / 1000).toFixed(1)} s)`;
}

/** A text in one line of at most 140 characters. */
export function oneLine(text: string): string {
  const line = text.trim().replaceAll(/\s*\n\s*/g, " ⏎ ");
  return line.length > 140 ? `${line.slice(0, 139)}…` : line;
}
