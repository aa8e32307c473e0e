import type { ReadEvent } from "../../client/parse-event.ts";
import { toFlatJson } from "../text/json-text.ts";

/** An event of a type that this page knows. */
export type KnownEvent = Exclude<ReadEvent, { type: "unknown" | "unreadable" }>;

/** An event as the page has it: of a type that this page knows, or of any other. */
export interface ShownEvent {
  readonly seq: number;
  readonly type: string;
  readonly at: string | undefined;
  readonly native: { readonly line: number; readonly source?: "stderr" | undefined } | undefined;
  /** The event, where this page knows its type. */
  readonly known: KnownEvent | undefined;
  /** `data` of a known event, the whole line of another. */
  readonly data: unknown;
  /** The event as it came, for the reader who wants it whole. */
  readonly whole: unknown;
  /** What a search looks through, in lower case. */
  readonly haystack: string;
}

/** Prepares an event of any kind; one that this page cannot read is shown as it was sent. */
export function toShown(event: ReadEvent): ShownEvent {
  if (event.type !== "unreadable" && event.type !== "unknown") {
    const { seq, type, at, data } = event;
    return {
      seq,
      type,
      at,
      native: readNative(event.native),
      known: event,
      data,
      whole: event,
      haystack: haystackOf(type, data),
    };
  }
  if (event.type === "unknown") {
    const { event_type: type, seq, at, native, data, ...rest } = event;
    const whole = { ...rest, type, seq, at, ...(native === undefined ? {} : { native }), data };
    return {
      seq,
      type,
      at,
      native: readNative(native),
      known: undefined,
      data,
      whole,
      haystack: haystackOf(type, data),
    };
  }
  const sent = parseRecord(event.line);
  const type = typeof sent?.["type"] === "string" ? sent["type"] : event.reason;
  const data = sent?.["data"] ?? sent ?? event.line;
  return {
    seq: event.seq,
    type,
    at: typeof sent?.["at"] === "string" ? sent["at"] : undefined,
    native: readNative(sent?.["native"]),
    known: undefined,
    data,
    whole: sent ?? event,
    haystack: haystackOf(type, data),
  };
}

/** Texts are cut for a search: a megabyte an event would make every key slow. */
const SEARCHED = 20_000;

function haystackOf(type: string, data: unknown): string {
  return `${type} ${toFlatJson(data) ?? ""}`.slice(0, SEARCHED).toLowerCase();
}

function parseRecord(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // Shown as text.
  }
}

function readNative(value: unknown): ShownEvent["native"] {
  if (!isRecord(value) || typeof value["line"] !== "number") return undefined;
  const { line, source } = value;
  if (source === undefined) return { line };
  // Lines of an output that a newer turnd has added cannot be shown.
  return source === "stderr" ? { line, source } : undefined;
}

/** Whether a value is an object with fields. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
