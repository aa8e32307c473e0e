import type { RunEvent } from "../../protocol/events.ts";

/** Longest string of a slim event, in bytes of UTF-8. */
const MAX_STRING_BYTES = 16_384;
const EMPTY_CUSTOM = new Set(["svc.step", "svc.attempt", "svc.unknown_record"]);
const SLIM_METADATA = new Set(["run_type", "source", "agent_slug"]);

/**
 * The client-facing form of an event: the same number, less in it. A pure function of the stored event. Law: events
 * have no gaps.
 */
export function slim({ native: _native, ...event }: RunEvent): RunEvent {
  const truncated: string[] = [];
  const payload = cut(reduce(event), [], truncated);
  return { ...event, payload: isRecord(payload) ? payload : {}, ...(truncated.length === 0 ? {} : { truncated }) };
}

function reduce({ event, payload }: Pick<RunEvent, "event" | "payload">): Record<string, unknown> {
  if (event === "metadata")
    return Object.fromEntries(Object.entries(payload).filter(([key]) => SLIM_METADATA.has(key)));
  if (event === "custom" && EMPTY_CUSTOM.has(String(payload["name"]))) return { name: payload["name"] };
  const { evidence: _evidence, ...rest } = payload;
  return rest;
}

function cut(value: unknown, path: readonly (string | number)[], truncated: string[]): unknown {
  if (typeof value === "string") {
    const bytes = Buffer.from(value, "utf8");
    if (bytes.length <= MAX_STRING_BYTES) return value;
    truncated.push(path.join("."));
    // Never in the middle of a character: a continuation byte is stepped back over.
    let end = MAX_STRING_BYTES;
    while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
    return bytes.toString("utf8", 0, end);
  }
  if (Array.isArray(value)) return value.map((entry: unknown, index) => cut(entry, [...path, index], truncated));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, cut(entry, [...path, key], truncated)]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
