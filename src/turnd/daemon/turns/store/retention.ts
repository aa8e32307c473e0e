import type { Logger } from "pino";
import { z } from "zod";
import type { StateIndex } from "../../state-index/state-index.ts";
import type { TurnObserver } from "../lifecycle/observer.ts";

/** How long, and how much, is kept of ended sessions; a limit of 0 is none. */
export interface RetentionLimits {
  readonly days: number;
  readonly bytes: number;
  /** What one session may take without being deleted before all others; 0 is a quarter of `bytes`. */
  readonly sessionBytes: number;
}

export interface RetentionParts {
  readonly index: Pick<
    StateIndex,
    "idleSessions" | "setSessionBytes" | "totalBytes" | "newestActivity" | "note" | "putNote"
  >;
  readonly limits: RetentionLimits;
  /** Deletes a session unless it is in use. @returns whether it is gone */
  readonly deleteIdle: (sessionId: string) => Promise<boolean>;
  /** Whether a turn waits or runs in a session, or a client uses it: it is not deleted then. */
  readonly isInUse: (sessionId: string) => boolean;
  /** What a session takes on the disk; undefined where that cannot be found out now. */
  readonly measure: (sessionId: string, signal: AbortSignal) => Promise<number | undefined>;
  readonly now: () => Date;
  /** Milliseconds of a clock that nobody sets. */
  readonly monotonicMs: () => number;
  readonly observer: Pick<TurnObserver, "sessionRetired">;
  readonly logger: Logger;
}

/** Deletes sessions that are kept no longer, the one longest left alone first. */
export interface Retention {
  /** Deletes what is beyond the limits now. Never throws. */
  runOnce(): Promise<void>;
  /** Gives up what is under way; resolves when it has ended. */
  stop(): Promise<void>;
}

const EVERY_MS = 600_000;
const DAY_MS = 86_400_000;
const AT_ONCE = 100;
/** Behind every time that is written. */
const EVER = "9999";
const ALL = -1;
/** Of the limit, where no share is set: four sessions may have that much. */
const SHARE = 4;
/** A clock that is more than this ahead of where it should be has jumped, and so much longer nothing is deleted by age. */
const JUMP_MS = DAY_MS;

/**
 * Makes the retention and begins with it; without a limit it does nothing.
 *
 * A session counts from its last turn's end. One that is in use, by a turn, a client that follows it or an open
 * terminal, is left alone. The requests of what is deleted keep their tombstones (law: at most once), and a deletion
 * that is broken off goes on at the next start, as every deletion of a session does.
 *
 * What one session takes costs no other its history: beyond its share it is deleted first, and while it is in use no more than
 * its share counts. Nothing is deleted where all that may be would not be enough.
 *
 * A clock that has jumped ahead deletes nothing until turnd has run for a day with it: a wrong one can be set right meanwhile.
 */
export function startRetention(parts: RetentionParts): Retention {
  const { index, limits, deleteIdle, isInUse, measure, now, observer, logger } = parts;
  const isHeld = watchClock(parts);
  const stopping = new AbortController();
  const { signal } = stopping;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  async function retire(sessionId: string, reason: "days" | "bytes"): Promise<boolean> {
    if (!(await deleteIdle(sessionId))) return false;
    observer.sessionRetired();
    logger.info({ sessionId, reason }, "session deleted by the retention");
    return true;
  }

  /** Sessions that have been idle since a time, the oldest first; those that stay are not given again. */
  async function eachIdle(before: string, visit: (id: string, bytes: number) => Promise<boolean>): Promise<void> {
    const seen = new Set<string>();
    for (;;) {
      const page = index.idleSessions({ before, limit: AT_ONCE + seen.size });
      const fresh = page.filter(({ session_id: id }) => !seen.has(id));
      if (fresh.length === 0) return;
      for (const { session_id: id, bytes } of fresh) {
        seen.add(id);
        if (signal.aborted || !(await visit(id, bytes ?? 0))) return;
      }
    }
  }

  async function keepDays(): Promise<void> {
    if (limits.days === 0 || isHeld()) return;
    const before = new Date(now().getTime() - limits.days * DAY_MS).toISOString();
    await eachIdle(before, async (id) => {
      await retire(id, "days");
      return true;
    });
  }

  async function keepBytes(): Promise<void> {
    if (limits.bytes === 0) return;
    for (const id of index.totalBytes().unmeasured) {
      if (signal.aborted) return;
      const bytes = await measure(id, signal);
      if (bytes !== undefined) index.setSessionBytes(id, bytes);
    }
    if (index.totalBytes().bytes <= limits.bytes) return;
    const share = limits.sessionBytes === 0 ? Math.floor(limits.bytes / SHARE) : limits.sessionBytes;
    const all = index
      .idleSessions({ before: EVER, limit: ALL })
      .map(({ session_id: id, bytes }) => ({ id, bytes: bytes ?? 0 }));
    const [inUse, idle] = [all.filter(({ id }) => isInUse(id)), all.filter(({ id }) => !isInUse(id))];
    const least = sum(inUse.map(({ bytes }) => Math.min(bytes, share)));
    let total = least + sum(idle.map(({ bytes }) => bytes));
    if (total > limits.bytes && least > limits.bytes) {
      logger.warn(
        { bytes: least, limit: limits.bytes },
        "sessions in use take more than all may: no other is deleted for them",
      );
      return;
    }
    const large = idle.filter(({ bytes }) => bytes > share).toSorted((one, other) => other.bytes - one.bytes);
    for (const { id, bytes } of [...large, ...idle.filter((session) => session.bytes > 0 && session.bytes <= share)]) {
      if (signal.aborted || total <= limits.bytes) return;
      // One that has come into use meanwhile counts as those do.
      total -= (await retire(id, "bytes")) ? bytes : bytes - Math.min(bytes, share);
    }
  }

  async function run(): Promise<void> {
    try {
      await keepDays();
      await keepBytes();
    } catch (error) {
      if (!signal.aborted) logger.error({ err: error }, "retention could not be applied and is tried again");
    }
  }
  function runOnce(): Promise<void> {
    running = running.then(run);
    return running;
  }

  if (limits.days > 0 || limits.bytes > 0) {
    timer = setInterval(() => void runOnce(), EVERY_MS);
    timer.unref();
    void runOnce();
  }
  return {
    runOnce,
    async stop() {
      stopping.abort();
      clearInterval(timer);
      await running;
    },
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

const NOTE = "clock";
const Note = z.object({ seen: z.iso.datetime(), held_ms: z.number().nonnegative() });

/**
 * Compares the clock with one that nobody sets while turnd runs, and at a start with when turnd last looked at it, or with the
 * last end of a turn. Both are kept, so that another start does not end the wait.
 *
 * @returns asks whether the clock has jumped ahead and is not believed yet
 */
function watchClock({ index, now, monotonicMs, logger }: RetentionParts): () => boolean {
  const kept = readNote(index.note(NOTE));
  let seenMs = Date.parse(kept?.seen ?? index.newestActivity() ?? now().toISOString());
  let heldMs = kept?.held_ms ?? 0;
  let lookedMs = monotonicMs();
  return () => {
    const [nowMs, tickMs] = [now().getTime(), monotonicMs()];
    const ranMs = tickMs - lookedMs;
    heldMs = Math.max(0, heldMs - ranMs);
    if (nowMs - seenMs - ranMs > JUMP_MS) {
      heldMs = JUMP_MS;
      const [from, to] = [new Date(seenMs).toISOString(), new Date(nowMs).toISOString()];
      logger.warn(
        { from, to },
        "the clock is ahead by more than a day: no session is deleted by age until it has run for a day",
      );
    }
    [seenMs, lookedMs] = [nowMs, tickMs];
    index.putNote(NOTE, JSON.stringify({ seen: new Date(nowMs).toISOString(), held_ms: heldMs }));
    return heldMs > 0;
  };
}

function readNote(text: string | undefined): z.infer<typeof Note> | undefined {
  if (text === undefined) return undefined;
  try {
    return Note.parse(JSON.parse(text));
  } catch {
    // Damaged: as where there is none, the last end of a turn decides.
    return undefined;
  }
}
