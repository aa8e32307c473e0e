import { setTimeout as delay } from "node:timers/promises";
import type { ReadEvent } from "../../../turnd/client/parse-event.ts";
import type { NewRunEvent } from "../../protocol/events.ts";
import type { Storage } from "../../storage/storage.ts";
import { isDatabaseAway } from "../../storage/transaction.ts";
import { append } from "../state/append.ts";
import type { Ownership } from "../state/rows.ts";
import { notifyEvents } from "../state/rows.ts";
import { translate } from "./translate.ts";

export type TurnEnded = Extract<ReadEvent, { type: "turn.ended" }>;

export interface PumpOptions {
  readonly storage: Storage;
  readonly owner: Ownership;
  /** How long writing is tried again while the database is away. */
  readonly leaseMs: number;
  readonly signal: AbortSignal;
  /** Called with each event when it is written. */
  readonly onWritten?: (event: ReadEvent) => void;
}

/** What of a batch is written together. */
const BATCH_EVENTS = 64;
/**
 * After a write a run pauses for so many times what the write took: an idle database writes each event as it comes, and one
 * that is slow gets fewer, larger batches. So a run has a fifth of one connection at most.
 */
const REST_SHARE = 4;
const MOST_REST_MS = 50;
/** Events that were read and are not written yet; beyond this turnd waits. */
const MOST_AHEAD = 256;
/** Where notices have to be spared: at most one a run in this time. */
const NOTICE_MS = 100;
const RETRY_MS = 500;

/**
 * Writes a turn's events into its run as they come, those that came during a write together, each batch with the turn's cursor.
 * Law: events have no gaps.
 *
 * @returns the turn's end, which is not written: it belongs to the transaction that ends the run
 * @throws {OwnershipLost} when the run is another's now
 */
export async function pump(
  open: (signal: AbortSignal) => AsyncIterable<ReadEvent>,
  options: PumpOptions,
): Promise<TurnEnded> {
  const { storage, owner, signal } = options;
  const ahead: ReadEvent[] = [];
  let change = Promise.withResolvers<void>();
  let ended: TurnEnded | undefined;
  let isDone = false;
  let fault: { readonly error: unknown } | undefined;
  const signalChange = (): void => {
    change.resolve();
    change = Promise.withResolvers();
  };
  const stopReading = new AbortController();

  async function readAhead(): Promise<void> {
    try {
      for await (const event of open(AbortSignal.any([signal, stopReading.signal]))) {
        if (event.type === "turn.ended") ended = event;
        else ahead.push(event);
        signalChange();
        while (ahead.length >= MOST_AHEAD && !stopReading.signal.aborted) await change.promise;
        if (stopReading.signal.aborted) break;
      }
    } catch (error) {
      if (!stopReading.signal.aborted) fault = { error };
    } finally {
      isDone = true;
      signalChange();
    }
  }

  async function rest(): Promise<void> {
    const restMs = restsUntil - performance.now();
    if (restMs <= 0) return;
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      signalChange();
    }, restMs);
    while (!isOver && ahead.length < BATCH_EVENTS && !isDone) await change.promise;
    clearTimeout(timer);
  }

  const reading = readAhead();
  const notices = createNotices(storage, owner.runId);
  let restsUntil = -Infinity;
  let hasMoved = false;
  try {
    for (;;) {
      while (ahead.length === 0 && !isDone) await change.promise;
      if (ahead.length === 0) break;
      await rest();
      const batch = ahead.slice(0, BATCH_EVENTS);
      const startedAt = performance.now();
      await writeBatch(options, batch, { isNoticed: notices.isDue(), isFirstMove: !hasMoved });
      const now = performance.now();
      restsUntil = now + Math.min(MOST_REST_MS, REST_SHARE * (now - startedAt));
      hasMoved = true;
      for (const event of batch) options.onWritten?.(event);
      ahead.splice(0, batch.length);
      signalChange();
      signal.throwIfAborted();
    }
  } finally {
    stopReading.abort();
    signalChange();
    notices.close();
    await reading;
  }
  if (fault !== undefined) throw toError(fault.error);
  if (ended === undefined) throw new Error("the turn's stream ended without turn.ended");
  return ended;
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

async function writeBatch(
  options: PumpOptions,
  batch: readonly ReadEvent[],
  how: { isNoticed: boolean; isFirstMove: boolean },
): Promise<void> {
  const { owner, signal } = options;
  const events: NewRunEvent[] = batch.flatMap((event) => translate(event, owner.attempt));
  const deadline = performance.now() + options.leaseMs;
  for (;;) {
    try {
      await append(options.storage, owner, events, { turnCursor: batch.at(-1)?.seq, ...how });
      return;
    } catch (error) {
      if (!isDatabaseAway(error) || performance.now() > deadline) throw error;
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}

/** One notice in a while where they have to be spared; what was held back is sent when that is over. */
function createNotices(storage: Storage, runId: string) {
  let lastAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  return {
    /** Whether readers are notified of the next write at once. */
    isDue(): boolean {
      const now = performance.now();
      if (now - lastAt >= NOTICE_MS || storage.hasNoticeToSpare()) {
        lastAt = now;
        return true;
      }
      timer ??= setTimeout(() => {
        timer = undefined;
        lastAt = performance.now();
        // A hint: readers poll besides. Law: the row is the truth.
        notifyEvents(storage.db, runId).catch(() => undefined);
      }, NOTICE_MS);
      return false;
    },
    close(): void {
      clearTimeout(timer);
    },
  };
}
