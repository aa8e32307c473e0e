import { ProblemError } from "../protocol/index.ts";
import { TurndHistoryError, TurndProtocolError } from "./errors.ts";
import type { Endpoint } from "./exchange.ts";
import { addToDigest } from "./follow.ts";
import { sessionPath } from "./paths.ts";
import { parseEvent, parseJson, type ReadEvent, type SentLine } from "./parse-event.ts";
import { readFollowed, type Followed, type FollowingOptions } from "./read-followed.ts";
import { beginTurn, readSessionPosition, writeSessionPosition, type SessionPosition } from "./session-cursor.ts";

/** How a session is followed. */
export interface SessionFollowOptions extends FollowingOptions {
  /** The cursor of an earlier following, or `<turn_id>:<seq>` of the last event the caller has; absent: the beginning. */
  readonly after?: string | undefined;
}

/** The events of a session's turns, one turn after the other. To iterate it again goes on after the last event taken. */
export interface SessionFollowing extends AsyncIterable<ReadEvent> {
  /** Where the caller stands, the event it holds included: what to keep, and give as `after` to a later following. */
  readonly cursor: string;
  /** The turn of the last event that was given. */
  readonly turnId: string | undefined;
  /** The `seq` of the last event that was given, in its turn. */
  readonly afterSeq: number;
  /** Whether the last event that was given is a `turn.ended`, and all of its turn was read and is what turnd has. */
  readonly isProved: boolean;
}

/**
 * Follows a session: the turns it has, in the order of their admission, and those that are still to come. Nothing is asked
 * before it is iterated.
 *
 * It goes on until the caller leaves the loop, its signal aborts, or the session is deleted, which is the
 * {@link TurndHistoryError} `removed`. Connections are made again, events are checked, and faults are thrown, as
 * `followTurn` does; the digest is that of each turn. A turn's end that cannot be read is given as `unreadable`.
 *
 * @throws {TypeError} for an `after` that is no cursor
 */
export function followSession(
  endpoint: Endpoint,
  sessionId: string,
  options: SessionFollowOptions = {},
): SessionFollowing {
  const isVerified = options.verify !== false;
  let position = readSessionPosition(options.after, isVerified);
  let isProved = false;

  const followed: Followed = {
    path: `${sessionPath(sessionId)}/events`,
    lastEventId: () => (position === undefined ? undefined : `${position.turnId}:${position.seq}`),
    read(sent, isLastTry) {
      const { turnId, seq } = nameOf(sent, position);
      const before = turnId === position?.turnId ? position : beginTurn(turnId, isVerified);
      if (before !== position && position?.hasEnded === false && !isLastTry) {
        throw new TurndProtocolError(`turn ${turnId} came before the end of turn ${position.turnId}`);
      }
      // The end of one turn does not hide the next.
      const event = withTurn(parseEvent({ line: sent.line, id: seq }, before.seq + 1), turnId);
      const take = (): void => {
        isProved = addToDigest(before.digest, sent.line, event);
        const hasEnded = event.type === "turn.ended" || sent.isEnd === true;
        position = { turnId, seq: event.seq, digest: hasEnded ? undefined : before.digest, hasEnded };
      };
      return { event, take };
    },
    isLast: () => false,
    explain: (error) => explainRefusal(error, position),
  };

  return {
    get cursor() {
      return writeSessionPosition(position);
    },
    get turnId() {
      return position?.turnId;
    },
    get afterSeq() {
      return position?.seq ?? 0;
    },
    get isProved() {
      return isProved;
    },
    [Symbol.asyncIterator]: () => readFollowed(endpoint, followed, options),
  };
}

/** Which turn an event belongs to, and its `seq`: by its frame's id, or by the line where there is no frame. */
function nameOf(
  { line, id }: SentLine,
  position: SessionPosition | undefined,
): { turnId: string; seq: string | undefined } {
  const [, ofFrame, seq] = /^(.+):(\d+)$/.exec(id ?? "") ?? [];
  if (ofFrame !== undefined) return { turnId: ofFrame, seq };
  const json = parseJson(line);
  const ofLine: unknown = typeof json === "object" && json !== null ? Reflect.get(json, "turn_id") : undefined;
  const turnId = typeof ofLine === "string" ? ofLine : position?.turnId;
  if (turnId === undefined) throw new TurndProtocolError("an event of no turn came in a session's stream");
  return { turnId, seq: undefined };
}

function withTurn(event: ReadEvent, turnId: string): ReadEvent {
  if (event.type === "unreadable") return { ...event, turn_id: turnId };
  if (event.turn_id === turnId) return event;
  throw new TurndProtocolError(`an event of turn ${event.turn_id} came as one of turn ${turnId}`);
}

/** The fault that a refusal is for a reader that has read some of the session. */
function explainRefusal(error: unknown, position: SessionPosition | undefined): unknown {
  if (!(error instanceof ProblemError) || position === undefined) return error;
  const { seq } = position;
  if (error.code === "cursor_beyond_end") return new TurndHistoryError("shorter", seq, error.message, error);
  // The session has no such turn, or none of its own any more.
  const isGone = error.code === "session_not_found" || error.code === "bad_cursor";
  return isGone ? new TurndHistoryError("removed", seq, error.message, error) : error;
}
