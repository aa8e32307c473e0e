import { PROBLEM_STATUS, ProblemError } from "../protocol/index.ts";
import { NOTHING_MORE, readConnection } from "./connection.ts";
import { readPosition, writePosition, type Position } from "./cursor.ts";
import { delay } from "./delay.ts";
import { TurndHistoryError, TurndProtocolError, TurndUnreachable } from "./errors.ts";
import { describeCause, type Endpoint } from "./exchange.ts";
import { parseEvent, type ReadEvent } from "./parse-event.ts";

/** How a turn is followed. */
export interface FollowOptions {
  /** The cursor of an earlier following, or the last `seq` the caller has; absent: the beginning. */
  readonly after?: string | number | undefined;
  /** Give up when turnd has sent nothing for so long, connections made again included; two minutes. */
  readonly lostAfterMs?: number | undefined;
  /** A connection without a byte for so long is made again: turnd sends a comment every 15 s; 45 s. */
  readonly silentAfterMs?: number | undefined;
  /** Whether the digest of what was read is compared with the turn's own at its end; true. */
  readonly verify?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
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

const LOST_MS = 120_000;
const SILENT_MS = 45_000;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
/** Longest wait that an answer may ask for. */
const LONGEST_ASKED_MS = 30_000;
const POLL_MS = 1_000;
/** How often a reader asks again for what it could not read: something in between may have broken it. */
const MOST_REREADS = 2;

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

  function take(line: string, event: ReadEvent): void {
    const { digest } = position;
    if (event.type === "turn.ended" && digest !== undefined) {
      const found = digest.digest();
      if (found !== event.data.digest) {
        const message = `the digest of ${position.seq} events is ${found}, and the turn's is ${event.data.digest}`;
        throw new TurndHistoryError("changed", position.seq, message);
      }
      isProved = true;
    }
    digest?.update(encoder.encode(`${line}\n`));
    position = { seq: event.seq, digest };
  }

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
    [Symbol.asyncIterator]: () => readEvents(endpoint, turnId, { ...options, position: () => position, take }),
  };
}

const encoder = new TextEncoder();

interface Reading extends FollowOptions {
  readonly isSlim?: boolean;
  readonly position: () => Position;
  /** Moves the position behind an event. */
  readonly take: (line: string, event: ReadEvent) => void;
}

async function* readEvents(endpoint: Endpoint, turnId: string, reading: Reading): AsyncGenerator<ReadEvent, undefined> {
  const { lostAfterMs = LOST_MS, silentAfterMs = SILENT_MS, isSlim = false, signal, position, take } = reading;
  let heardAt = performance.now();
  let failures = 0;
  let rereads = 0;
  let isPolling = false;
  let isMute = false;
  for (;;) {
    signal?.throwIfAborted();
    let lost: unknown = new Error("the connection was closed");
    const connection = new AbortController();
    const how: "poll" | "stream" = isPolling || isMute ? "poll" : "stream";
    isMute = false;
    let hasHeard = false;
    try {
      const options = { afterSeq: position().seq, how, isSlim, silentAfterMs, signal, connection } as const;
      for await (const lines of readConnection(endpoint, turnId, options)) {
        heardAt = performance.now();
        hasHeard = true;
        for (const sent of lines) {
          const event = parseEvent(sent, position().seq + 1);
          if (event.type === "unreadable" && rereads < MOST_REREADS)
            throw new TurndProtocolError(`event ${event.seq} cannot be read: ${event.reason}`);
          take(sent.line, event);
          failures = 0;
          yield event;
          if (event.type === "turn.ended") return undefined;
          // The caller may have held the event for long; that was no silence of turnd's.
          heardAt = performance.now();
          // What the stream should have brought was there all the time.
          isPolling ||= how === "poll";
        }
      }
      if (connection.signal.reason === NOTHING_MORE) return undefined;
      if (how === "poll") heardAt = performance.now();
    } catch (error) {
      const isReread = error instanceof TurndProtocolError && rereads < MOST_REREADS;
      if (isReread) rereads += 1;
      else if (isFinal(error)) throw explainFinal(error, position().seq);
      signal?.throwIfAborted();
      // Nothing came, and it was us who ended it: something in between may keep the stream back.
      isMute = how === "stream" && !hasHeard && connection.signal.aborted;
      lost = error;
    } finally {
      connection.abort();
    }
    const silentMs = performance.now() - heardAt;
    if (silentMs >= lostAfterMs) {
      throw new TurndUnreachable(`turnd sent nothing for ${Math.round(silentMs)} ms: ${describeCause(lost)}`, lost);
    }
    const waitMs = how === "poll" && isPolling ? POLL_MS : waitBefore(lost, failures);
    failures += 1;
    await delay(Math.min(waitMs, lostAfterMs - silentMs), signal);
  }
}

/** How long to wait before the next connection: what the answer asks for, or longer and longer. */
function waitBefore(lost: unknown, failures: number): number {
  const ownMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (0.5 + Math.random() / 2);
  return Math.max(ownMs, Math.min(askedWaitMs(lost) ?? 0, LONGEST_ASKED_MS));
}

function askedWaitMs(error: unknown): number | undefined {
  if (error instanceof TurndUnreachable) return error.retryAfterMs;
  if (!(error instanceof ProblemError) || error.retryAfterSeconds === undefined) return undefined;
  return error.retryAfterSeconds * 1_000;
}

/** Whether asking again cannot help. */
function isFinal(error: unknown): boolean {
  if (error instanceof TurndProtocolError) return true;
  if (!(error instanceof ProblemError)) return false;
  const status = PROBLEM_STATUS[error.code];
  return status < 500 && status !== 429;
}

/** What a refusal means to a reader that has read some of the turn. */
function explainFinal(error: unknown, afterSeq: number): unknown {
  if (!(error instanceof ProblemError)) return error;
  if (error.code === "cursor_beyond_end") return new TurndHistoryError("shorter", afterSeq, error.message, error);
  const isGone = error.code === "turn_not_found" || error.code === "session_not_found";
  return isGone && afterSeq > 0 ? new TurndHistoryError("removed", afterSeq, error.message, error) : error;
}
