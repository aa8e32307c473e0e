import { defined } from "../../../../kit/defined.ts";
import { TurnEvent } from "../../../protocol/index.ts";
import { MASK, type Redact } from "../../event-log/redact.ts";
import type { TranslatedEvent } from "../../executors/contract/translator.ts";
import { isSameText } from "./logged-event.ts";

/** Which tool calls have started and ended by a log. */
export interface ToolLedger {
  /** Takes note of a logged event. */
  note(event: { readonly type: string; readonly data: object }): void;
  /**
   * What is to be logged for an event of another translation than the one that wrote the log, so that in the log every call
   * still starts once and ends once: nothing for what is there, and the start before an end that has none.
   */
  fit(event: TranslatedEvent): readonly TranslatedEvent[];
  /** The same event under the id by which the log knows its call already: secrets were taken out of that, by those of then. */
  underLoggedId(event: TranslatedEvent): TranslatedEvent;
  /** Ends what is open. */
  interrupt(): readonly TranslatedEvent[];
}

/** Makes an empty ledger of a log from which secrets were taken. */
export function createToolLedger(redact: Redact): ToolLedger {
  const open = new Map<string, object>();
  const ended = new Set<string>();
  const masked = new Set<string>();

  const isKnown = (id: string): boolean => open.has(id) || ended.has(id);

  function findLoggedId(id: string): string {
    if (isKnown(id)) return id;
    if (masked.size === 0) return id;
    const redacted = redact(id);
    if (isKnown(redacted)) return redacted;
    // By the secrets of an earlier daemon; nothing but the mask would stand for every call.
    return [...masked].find((logged) => logged !== MASK && isSameText(logged, id)) ?? id;
  }

  function underLoggedId(event: TranslatedEvent): TranslatedEvent {
    if (event.type !== "tool.started" && event.type !== "tool.ended") return event;
    const id = findLoggedId(event.data.tool_call_id);
    if (id === event.data.tool_call_id) return event;
    return event.type === "tool.started"
      ? { ...event, data: { ...event.data, tool_call_id: id } }
      : { ...event, data: { ...event.data, tool_call_id: id } };
  }

  return {
    note({ type, data }) {
      if (!("tool_call_id" in data) || typeof data.tool_call_id !== "string") return;
      const id = data.tool_call_id;
      if (id.includes(MASK)) masked.add(id);
      if (type === "tool.started") open.set(id, data);
      if (type !== "tool.ended") return;
      open.delete(id);
      ended.add(id);
    },
    underLoggedId,
    fit(translated) {
      const event = underLoggedId(translated);
      if (event.type !== "tool.started" && event.type !== "tool.ended") return [event];
      const { tool_call_id: id, name, kind, title, input, locations } = event.data;
      if (ended.has(id)) return [];
      if (event.type === "tool.started") return open.has(id) ? [] : [event];
      if (open.has(id)) return [event];
      const call = {
        tool_call_id: id,
        name,
        kind,
        ...defined({ title, input, locations }),
      };
      return [{ type: "tool.started", data: call, ...(event.native && { native: event.native }) }, event];
    },
    interrupt() {
      return [...open.values()].flatMap((call) => {
        // Written by a version of turnd that knows more or less of a call: it cannot be repeated here.
        const event = TurnEvent.safeParse({ type: "tool.ended", data: { ...call, status: "interrupted" } });
        return event.success ? [event.data] : [];
      });
    },
  };
}
