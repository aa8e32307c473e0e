import type { EventSourceMessage } from "eventsource-parser";
import { LoggedEvent } from "../protocol/index.ts";
import { TurndProtocolError, TurndUnreachable } from "./errors.ts";

/** An event of a turn that this version cannot read, in its place: the events around it can be. */
export interface UnreadableEvent {
  readonly type: "unreadable";
  readonly seq: number;
  readonly reason: "not_json" | "bad_shape";
  /** What was sent, or its beginning. */
  readonly line: string;
}

/** What a reader of a turn's events gets. */
export type ReadEvent = LoggedEvent | UnreadableEvent;

const MOST_LINE = 8_192;

/**
 * An event as turnd has sent it.
 *
 * @throws {TurndProtocolError} when it is not the one that was expected, or when it is the turn's end and cannot be read
 * @throws {TurndUnreachable} for turnd's word that the stream failed on its side; the turn may well go on
 */
export function parseEvent({ id, event, data }: EventSourceMessage, expectedSeq: number): ReadEvent {
  if (id === undefined || event === "error") throw new TurndUnreachable(`turnd's stream failed: ${data}`);
  const parsed = LoggedEvent.safeParse(parseJson(data));
  const seq = parsed.success ? parsed.data.seq : Number(id);
  if (seq !== expectedSeq) throw new TurndProtocolError(`seq ${seq} came where ${expectedSeq} was expected`);
  if (parsed.success) return parsed.data;
  // Without it nothing tells how the turn ended.
  if (event === "turn.ended") throw new TurndProtocolError("the turn's end has another shape", parsed.error);
  const reason = parseJson(data) === undefined ? "not_json" : "bad_shape";
  return { type: "unreadable", seq, reason, line: data.slice(0, MOST_LINE) };
}

/** Undefined for what is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
