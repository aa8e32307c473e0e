import { ProblemError } from "../protocol/index.ts";
import { readPosition, writePosition } from "./cursor.ts";
import { TurndHistoryError } from "./errors.ts";
import type { Endpoint } from "./exchange.ts";
import { turnPath } from "./paths.ts";
import { parseEvent, type ReadEvent } from "./parse-event.ts";
import { readFollowed, type Followed, type FollowingOptions } from "./read-followed.ts";
import type { Sha256 } from "./sha256.ts";

/** How a turn is followed. */
export interface FollowOptions extends FollowingOptions {
  /** The cursor of an earlier following, or the last `seq` the caller has; absent: the beginning. */
  readonly after?: string | number | undefined;
}

/** A turn's events, in order, each once, until `turn.ended`. To iterate it again goes on after the last event taken. */
export interface Following extends AsyncIterable<ReadEvent> {
  /** Where the caller stands, the event it holds included: what to keep, and give as `after` to a later following. */
  readonly cursor: string;
  /** The `seq` of the last event that was given. */
  readonly afterSeq: number;
  /**
   * Whether the events from the turn's first to its last are proved to be those that turnd has: known when `turn.ended` was given,
   * and only where the beginning was read too, by this following or by the one its cursor came from.
   */
  readonly isProved: boolean;
}

/**
 * Follows a turn. Nothing is asked before it is iterated.
 *
 * A broken connection is made again after the last event the caller has taken. The time in which the caller holds an event is
 * not counted as silence. An event that cannot be read is asked for again, and given as `unreadable` when that does not help:
 * one line must not hide what came of the turn. Where something in between keeps a stream back, such as a proxy that
 * buffers, it is asked for the events every second instead.
 *
 * Iterating ends without `turn.ended` only where turnd could not write that event; the turn's result has what came of it.
 * It throws {@link TurndUnreachable} after `lostAfterMs` without a byte, {@link TurndHistoryError} when what was read and what
 * turnd has are not one history, {@link TurndProtocolError} when the turn's end has another shape, a `ProblemError` for what turnd
 * refuses for good, such as `turn_not_found`, and the signal's reason. To leave the loop closes the connection.
 *
 * @throws {TypeError} for an `after` that is no cursor
 */
export function followTurn(
  endpoint: Endpoint,
  turnId: string,
  options: FollowOptions & { readonly isSlim?: boolean } = {},
): Following {
  const isVerified = options.verify !== false && options.isSlim !== true;
  let position = readPosition(options.after, isVerified);
  let isProved = false;
  const followed: Followed = {
    path: `${turnPath(turnId)}/events${options.isSlim === true ? "?verbose=false" : ""}`,
    lastEventId: () => (position.seq === 0 ? undefined : String(position.seq)),
    read(sent) {
      const event = parseEvent(sent, position.seq + 1);
      const take = (): void => {
        isProved = addToDigest(position.digest, sent.line, event);
        position = { seq: event.seq, digest: position.digest };
      };
      return { event, take };
    },
    isLast: ({ type }) => type === "turn.ended",
    explain: (error) => explainRefusal(error, position.seq),
  };

  return {
    get cursor() {
      return writePosition(position);
    },
    get afterSeq() {
      return position.seq;
    },
    get isProved() {
      return isProved;
    },
    [Symbol.asyncIterator]: () => readFollowed(endpoint, followed, options),
  };
}

const encoder = new TextEncoder();

/**
 * Adds an event to the digest of those before it.
 *
 * @returns whether it is the turn's end, and proves what was read
 * @throws {TurndHistoryError} `changed` when the turn's end has another digest
 */
export function addToDigest(digest: Sha256 | undefined, line: string, event: ReadEvent): boolean {
  if (digest === undefined) return false;
  if (event.type === "turn.ended") {
    const found = digest.digest();
    if (found === event.data.digest) return true;
    const read = event.seq - 1;
    const message = `the digest of ${read} events is ${found}, and the turn's is ${event.data.digest}`;
    throw new TurndHistoryError("changed", read, message);
  }
  digest.update(encoder.encode(`${line}\n`));
  return false;
}

/** The fault that a refusal is for a reader that has read some of the turn. */
function explainRefusal(error: unknown, afterSeq: number): unknown {
  if (!(error instanceof ProblemError)) return error;
  if (error.code === "cursor_beyond_end") return new TurndHistoryError("shorter", afterSeq, error.message, error);
  const isGone = error.code === "turn_not_found" || error.code === "session_not_found";
  return isGone && afterSeq > 0 ? new TurndHistoryError("removed", afterSeq, error.message, error) : error;
}
