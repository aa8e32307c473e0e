import { LoggedEvent } from "../protocol/index.ts";
import { TurndHistoryError, TurndProtocolError } from "./errors.ts";
import { parseTolerant } from "./tolerant.ts";

/** An event of a turn that this version cannot read, in its place: the events around it can be. */
export interface UnreadableEvent {
  readonly type: "unreadable";
  readonly seq: number;
  readonly reason: "not_json" | "bad_shape";
  /** What was sent, or its beginning. */
  readonly line: string;
}

/** What a reader of a turn's events gets; narrowed by its `type`. */
export type ReadEvent = LoggedEvent | UnreadableEvent;

/** A line of a turn's log as it was sent, with what its frame says of it. */
export interface SentLine {
  readonly line: string;
  /** Undefined where only the line itself can say. */
  readonly id?: string | undefined;
  readonly isEnd?: boolean;
}

const MOST_LINE = 8_192;

/**
 * An event as turnd has sent it.
 *
 * @throws {TurndHistoryError} when it is not the one that was expected
 * @throws {TurndProtocolError} when it is the turn's end and cannot be read
 */
export function parseEvent({ line, id, isEnd }: SentLine, expectedSeq: number): ReadEvent {
  const json = parseJson(line);
  const parsed = parseTolerant(LoggedEvent, json);
  const seq = parsed.success ? parsed.data.seq : Number(id ?? expectedSeq);
  if (seq !== expectedSeq) {
    const message = `seq ${seq} came where ${expectedSeq} was expected`;
    throw new TurndHistoryError("gap", expectedSeq - 1, message);
  }
  if (parsed.success) return parsed.data;
  // Without it it is unknown how the turn ended.
  if (isEnd === true) throw new TurndProtocolError("the turn's end has another shape", parsed.error);
  return {
    type: "unreadable",
    seq,
    reason: json === undefined ? "not_json" : "bad_shape",
    line: line.slice(0, MOST_LINE),
  };
}

/** Undefined for what is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
