import { setTimeout as delay } from "node:timers/promises";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { PROBLEM_STATUS, ProblemError } from "../protocol/index.ts";
import { TurndProtocolError, TurndUnreachable } from "./errors.ts";
import { describeCause, refusal, send, type TurndAddress } from "./exchange.ts";
import { parseEvent, type ReadEvent } from "./parse-event.ts";
import type { Incoming } from "./transport.ts";

/** What a reader of a turn's events says. */
export interface EventsOptions {
  /** The last `seq` the caller has; 0 begins at the beginning. */
  readonly afterSeq: number;
  /** Give up when turnd has sent nothing for so long, connections made again included. */
  readonly lostAfterMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Longest wait for an answer's headers, and for a byte of it: turnd sends a comment every 15 s. */
const HEADERS_MS = 10_000;
const SILENCE_MS = 45_000;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
/** How often a reader asks again for what it could not read: what lies in between may have broken it. */
const MOST_REREADS = 2;

/**
 * A turn's events in order, each once, until `turn.ended`.
 *
 * A broken connection is made again after the last event the caller has taken. The time in which the caller holds an event is
 * not counted as silence. An event that cannot be read is asked for again, and given as `unreadable` when that does not help:
 * one line must not hide what came of the turn.
 * @throws {TurndUnreachable} after `lostAfterMs` without a byte
 * @throws {TurndProtocolError} when `seq` has a gap or a repeat that stays, or the turn's end another shape
 * @throws {ProblemError} what turnd refuses for good, such as `turn_not_found`
 */
export async function* readEvents(
  address: TurndAddress,
  turnId: string,
  options: EventsOptions,
): AsyncGenerator<ReadEvent> {
  const { lostAfterMs, signal } = options;
  let { afterSeq } = options;
  let heardAt = performance.now();
  let failures = 0;
  let rereads = 0;
  for (;;) {
    signal?.throwIfAborted();
    let lost: unknown = new Error("the connection was closed");
    const connection = new AbortController();
    try {
      for await (const frames of readConnection(address, turnId, { afterSeq, signal, connection })) {
        heardAt = performance.now();
        for (const frame of frames) {
          const event = parseEvent(frame, afterSeq + 1);
          if (event.type === "unreadable" && rereads < MOST_REREADS)
            throw new TurndProtocolError(`event ${event.seq} cannot be read: ${event.reason}`);
          afterSeq = event.seq;
          failures = 0;
          yield event;
          if (event.type === "turn.ended") return;
          // The caller may have held the event for long; that was no silence of turnd's.
          heardAt = performance.now();
        }
        if (frames.length === 0) continue;
      }
      if (connection.signal.reason === NOTHING_MORE) return;
    } catch (error) {
      const isReread = error instanceof TurndProtocolError && rereads < MOST_REREADS;
      if (isReread) rereads += 1;
      else if (isFinal(error)) throw error;
      signal?.throwIfAborted();
      lost = error;
    } finally {
      connection.abort();
    }
    const silentMs = performance.now() - heardAt;
    if (silentMs >= lostAfterMs) {
      throw new TurndUnreachable(`turnd sent nothing for ${Math.round(silentMs)} ms: ${describeCause(lost)}`, lost);
    }
    const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (0.5 + Math.random() / 2);
    failures += 1;
    await delay(Math.min(waitMs, lostAfterMs - silentMs), undefined, signal === undefined ? {} : { signal });
  }
}

/** The turn has ended and the cursor is at its end. */
const NOTHING_MORE = new Error("nothing more will follow");

interface ConnectionOptions {
  readonly afterSeq: number;
  readonly signal: AbortSignal | undefined;
  readonly connection: AbortController;
}

/** One connection's frames; an empty batch says that a byte came. */
async function* readConnection(
  address: TurndAddress,
  turnId: string,
  { afterSeq, signal, connection }: ConnectionOptions,
): AsyncGenerator<EventSourceMessage[]> {
  const both = signal === undefined ? connection.signal : AbortSignal.any([connection.signal, signal]);
  const call = { method: "GET", path: `/v1/turns/${encodeURIComponent(turnId)}/events` } as const;
  const headers = {
    accept: "text/event-stream",
    ...(afterSeq === 0 ? {} : { "last-event-id": String(afterSeq) }),
  };
  const answer = await within(HEADERS_MS, "no answer", connection, () => send(address, { ...call, headers }, both));
  if (answer.statusCode === 204) {
    connection.abort(NOTHING_MORE);
    return;
  }
  if (answer.statusCode < 200 || answer.statusCode > 299) throw await readRefusal(answer, call, connection);
  const frames: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (frame) => void frames.push(frame) });
  const decoder = new TextDecoder();
  const chunks: AsyncIterator<Uint8Array, undefined> = answer.body[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await within(SILENCE_MS, "silent", connection, () => chunks.next());
    if (done === true) return;
    parser.feed(decoder.decode(value, { stream: true }));
    yield frames.splice(0);
  }
}

async function readRefusal(
  { statusCode: status, body: stream }: Incoming,
  call: { readonly method: "GET"; readonly path: string },
  connection: AbortController,
): Promise<Error> {
  const text = await within(HEADERS_MS, "no answer", connection, () => stream.text());
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy's page: the status alone says what to make of it.
  }
  return refusal({ status, body }, call);
}

/** @throws what ends the connection when the work takes longer */
async function within<T>(
  limitMs: number,
  what: string,
  connection: AbortController,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => connection.abort(new Error(`${what} for ${limitMs} ms`)), limitMs);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

/** Whether asking again cannot help. */
function isFinal(error: unknown): boolean {
  if (error instanceof TurndProtocolError) return true;
  if (!(error instanceof ProblemError)) return false;
  const status = PROBLEM_STATUS[error.code];
  return status < 500 && status !== 429;
}
