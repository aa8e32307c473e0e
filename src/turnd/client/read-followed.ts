import { backoffMs } from "../../kit/retry/backoff.ts";
import { isServerSide } from "../../kit/retry/passing-status.ts";
import { ProblemError } from "../protocol/index.ts";
import { NOTHING_MORE, readConnection } from "./connection.ts";
import { delay } from "./delay.ts";
import { TurndProtocolError, TurndUnreachable } from "./errors.ts";
import { describeCause, type Endpoint } from "./exchange.ts";
import type { ReadEvent, SentLine } from "./parse-event.ts";

/** How events are followed. */
export interface FollowingOptions {
  /** Give up when turnd has sent nothing for so long, connections made again included; two minutes. */
  readonly lostAfterMs?: number | undefined;
  /** A connection without a byte for so long is made again: turnd sends a comment every 15 s; 45 s. */
  readonly silentAfterMs?: number | undefined;
  /** Whether the digest of what was read is compared with the turn's own at its end; true. */
  readonly verify?: boolean | undefined;
  /**
   * Ask for the events every second in place of a stream: for a browser, which has six connections to a host for all its
   * tabs together.
   */
  readonly poll?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What is followed, and where its reader stands. */
export interface Followed {
  /** Of its events, with the query. */
  readonly path: string;
  /** Of the last event that was taken; undefined before the first. */
  lastEventId(): string | undefined;
  /**
   * Reads a line, which has to be the next one; `take` moves the reader behind it.
   *
   * @param isLastTry - it was as wrong when it was asked for again
   * @throws {TurndHistoryError} where it is not the next one
   */
  read(sent: SentLine, isLastTry: boolean): { readonly event: ReadEvent; take(): void };
  /** Whether nothing follows after an event. */
  isLast(event: ReadEvent): boolean;
  /** What a refusal for good means to this reader. */
  explain(error: unknown): unknown;
}

const LOST_MS = 120_000;
const SILENT_MS = 45_000;
const WAITS = { firstMs: 100, longestMs: 5_000 };
/** Longest wait that an answer may ask for. */
const LONGEST_ASKED_MS = 30_000;
const POLL_MS = 1_000;
/** How often a reader asks again for an event that it could not read: a proxy may have damaged it. */
const MOST_REREADS = 2;

/**
 * Reads what is followed, across connections.
 *
 * @throws {TurndUnreachable} after `lostAfterMs` without a byte; what turnd refuses for good; the signal's reason
 */
export async function* readFollowed(
  endpoint: Endpoint,
  followed: Followed,
  options: FollowingOptions,
): AsyncGenerator<ReadEvent, undefined> {
  const { lostAfterMs = LOST_MS, silentAfterMs = SILENT_MS, signal } = options;
  let heardAt = performance.now();
  let failures = 0;
  let rereads = 0;
  let isPolling = options.poll === true;
  let isMute = false;
  for (;;) {
    signal?.throwIfAborted();
    let lost: unknown = new Error("the connection was closed");
    const connection = new AbortController();
    const how: "poll" | "stream" = isPolling || isMute ? "poll" : "stream";
    isMute = false;
    let hasHeard = false;
    try {
      const reading = { lastEventId: followed.lastEventId(), how, silentAfterMs, signal, connection } as const;
      for await (const lines of readConnection(endpoint, followed.path, reading)) {
        heardAt = performance.now();
        hasHeard = true;
        for (const sent of lines) {
          const { event, take } = followed.read(sent, rereads >= MOST_REREADS);
          if (event.type === "unreadable" && rereads < MOST_REREADS)
            throw new TurndProtocolError(`event ${event.seq} cannot be read: ${event.reason}`);
          take();
          failures = 0;
          yield event;
          if (followed.isLast(event)) return undefined;
          // A session's next turn.
          if (event.type === "turn.ended") rereads = 0;
          // The caller may have held the event for long; turnd was not silent meanwhile.
          heardAt = performance.now();
          // The stream held back what was there all the time.
          isPolling ||= how === "poll";
        }
      }
      if (connection.signal.reason === NOTHING_MORE) return undefined;
      if (how === "poll") heardAt = performance.now();
    } catch (error) {
      const isReread = error instanceof TurndProtocolError && rereads < MOST_REREADS;
      if (isReread) rereads += 1;
      else if (isFinal(error)) throw followed.explain(error);
      signal?.throwIfAborted();
      // Nothing came, and this side ended it: a proxy may hold the stream back.
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

/** The wait before the next connection: what the answer asks for, otherwise growing. */
function waitBefore(lost: unknown, failures: number): number {
  return Math.max(backoffMs(WAITS, failures), Math.min(askedWaitMs(lost) ?? 0, LONGEST_ASKED_MS));
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
  return !isServerSide(error.status);
}
