import { defined } from "../../../kit/defined.ts";
import type { ReadEvent } from "../../../turnd/client/parse-event.ts";
import type { NewRunEvent, Payload } from "../../protocol/events.ts";

/** Of an event that nothing is known about. */
const MOST_LINE = 8_192;

/**
 * What a turn's event is in its run; pure. The end of a turn is not translated: it decides how the run ends.
 *
 * @param attempt - the run's attempt that follows the turn
 */
export function translate(event: ReadEvent, attempt: number): NewRunEvent[] {
  if (event.type === "unreadable") {
    const { seq, type, reason, line } = event;
    const payload = { name: "svc.unknown_record", reason, line };
    return [{ event: "custom", payload, native: { turn_seq: seq, type } }];
  }
  if (event.type === "unknown") {
    const { seq, event_type: type, data } = event;
    const payload = {
      name: "svc.unknown_record",
      reason: "unknown_type",
      line: JSON.stringify(data).slice(0, MOST_LINE),
    };
    return [{ event: "custom", payload, native: { turn_seq: seq, type } }];
  }
  const native = {
    turn_seq: event.seq,
    type: event.type,
    ...defined({ line: event.native?.line }),
  };
  const { parent_tool_call_id: parent } = event;
  if (parent !== undefined) {
    const payload = { name: "svc.subagent", parent_tool_call_id: parent, type: event.type, data: event.data };
    return PIECES.has(event.type) ? [] : [{ event: "custom", payload, native }];
  }
  return translatePayloads(event, attempt).map(([type, payload]) => ({ event: type, payload, native }));
}

/** Of what follows whole. */
const PIECES: ReadonlySet<string> = new Set(["message.delta", "reasoning.delta", "message.discarded", "tool.output"]);

type KnownEvent = Exclude<ReadEvent, { type: "unknown" | "unreadable" }>;
type TranslatedEvent = readonly [NewRunEvent["event"], Payload];

function translatePayloads(event: KnownEvent, attempt: number): TranslatedEvent[] {
  switch (event.type) {
    case "turn.started": {
      const { cli, model } = event.data;
      const { turn_id, session_id } = event;
      return [custom("svc.turn", { turn_id, session_id, cli, ...defined({ model }), attempt })];
    }
    case "session.bound":
      return [custom("svc.session", { resumed: event.data.resumed })];
    case "session.degraded": {
      const { requested, bound, reason } = event.data;
      return [custom("svc.resume_degraded", { requested, ...defined({ bound }), reason })];
    }
    case "step.started":
      return [custom("svc.step", { index: event.data.index, phase: "started" })];
    case "step.ended": {
      const { index, reason, usage, cost_usd } = event.data;
      const step = custom("svc.step", { index, phase: "ended", reason });
      if (usage === undefined) return [step];
      return [step, custom("svc.usage", { usage, ...defined({ cost_usd }) })];
    }
    case "message": {
      const { message_id, text, final } = event.data;
      return [
        item({
          type: "message",
          message_id,
          role: "assistant",
          content: text,
          ...defined({ final }),
        }),
      ];
    }
    case "reasoning":
      return [item({ type: "reasoning", message_id: event.data.message_id, content: event.data.text })];
    case "tool.started": {
      const { tool_call_id, name, kind, title, input, locations } = event.data;
      return [item({ type: "tool_call", tool_call_id, name, kind, ...defined({ title, args: input, locations }) })];
    }
    case "tool.ended": {
      const { tool_call_id, name, kind, status, output, exit_code, changes, error, duration_ms } = event.data;
      const rest = defined({ output, exit_code, changes, error, duration_ms });
      return [item({ type: "tool_result", tool_call_id, name, kind, status, ...rest })];
    }
    case "plan.updated":
      return [custom("svc.plan", { entries: event.data.entries })];
    case "retry":
      return [custom("svc.retry", { ...event.data })];
    case "permission.denied":
      return [custom("svc.permission_denied", { ...event.data })];
    case "warning":
      return [custom("svc.warning", { ...event.data })];
    case "record.unknown":
      return [custom("svc.unknown_record", { ...event.data })];
    case "message.delta":
    case "reasoning.delta":
    case "message.discarded":
    case "tool.output":
      return [];
    case "approval.requested":
      return [custom("svc.approval_requested", { ...event.data })];
    case "approval.resolved":
      return [custom("svc.approval_resolved", { ...event.data })];
    case "input.requested":
      return [custom("svc.input_requested", { ...event.data })];
    case "input.answered":
      return [custom("svc.input_answered", { ...event.data })];
    case "input.accepted":
      return [custom("svc.input_accepted", { ...event.data })];
    case "turn.ended":
      return [];
  }
}

function custom(name: string, fields: Payload): TranslatedEvent {
  return ["custom", { name, ...fields }];
}

function item(fields: Payload): TranslatedEvent {
  return ["messages", { items: [fields] }];
}
