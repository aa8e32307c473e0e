import * as z from "zod";
import { EVENT_DATA, isWord, LoggedEvent, Native, type NewerWord, type Tolerant } from "../protocol/index.ts";
import { TurndHistoryError, TurndProtocolError } from "./errors.ts";
import { parseTolerant } from "./tolerant.ts";

/** An event of a turn that this version cannot read, in its place: the events around it can be. */
export interface UnreadableEvent {
  readonly type: "unreadable";
  readonly seq: number;
  /** The turn it belongs to, where a session is followed. */
  readonly turn_id?: string;
  readonly reason: "not_json" | "bad_shape";
  /** What was sent, or its beginning. */
  readonly line: string;
}

/** An event of a type that this version does not know: a newer turnd has added it. */
export interface UnknownEvent extends Tolerant<z.infer<typeof Envelope>> {
  readonly type: "unknown";
  /** What kind of event it is. */
  readonly event_type: NewerWord;
}

/** What a reader of a turn's events gets; narrowed by its `type`. */
export type ReadEvent = Tolerant<LoggedEvent> | UnknownEvent | UnreadableEvent;

/** A line of a turn's log as it was sent, with what its frame says of it. */
export interface SentLine {
  readonly line: string;
  /** Undefined where only the line itself can say. */
  readonly id?: string | undefined;
  readonly isEnd?: boolean;
}

/** The envelope of every event. */
const Envelope = z.object({
  v: z.literal(1),
  seq: z.int().positive(),
  at: z.string(),
  turn_id: z.string(),
  session_id: z.string(),
  executor: z.string(),
  native: z.object(Native.shape).optional(),
  data: z.record(z.string(), z.unknown()),
});
const TypedEnvelope = Envelope.extend({ type: z.string() });

const MOST_LINE = 8_192;

/**
 * An event as turnd has sent it.
 *
 * @throws {TurndHistoryError} when it is not the one that was expected
 * @throws {TurndProtocolError} when it is the turn's end and cannot be read
 */
export function parseEvent({ line, id, isEnd }: SentLine, expectedSeq: number): ReadEvent {
  const json = parseJson(line);
  const known = parseTolerant(LoggedEvent, json);
  const event = known.success ? known.data : readUnknown(json);
  const fault = known.success ? undefined : known.error;
  const seq = event?.seq ?? Number(id ?? expectedSeq);
  if (seq !== expectedSeq) {
    const message = `seq ${seq} came where ${expectedSeq} was expected`;
    throw new TurndHistoryError("gap", expectedSeq - 1, message);
  }
  if (event !== undefined) return event;
  // Without it it is unknown how the turn ended.
  if (isEnd === true) throw new TurndProtocolError("the turn's end has another shape", fault);
  return {
    type: "unreadable",
    seq,
    reason: json === undefined ? "not_json" : "bad_shape",
    line: line.slice(0, MOST_LINE),
  };
}

/** @returns undefined for an event of a known type that has another shape, and for what is no event */
function readUnknown(json: unknown): UnknownEvent | undefined {
  const parsed = parseTolerant(TypedEnvelope, json);
  if (!parsed.success) return undefined;
  const { type, ...envelope } = parsed.data;
  return Object.hasOwn(EVENT_DATA, type) || !isWord(type)
    ? undefined
    : { ...envelope, type: "unknown", event_type: type };
}

/** @returns undefined for what is no JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
