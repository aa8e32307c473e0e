import type { Logger } from "pino";
import type { StateIndex } from "../state-index/state-index.ts";
import type { TurnObserver } from "./contract/observer.ts";

/** How long, and how much, is kept of ended sessions; a limit of 0 is none. */
export interface RetentionLimits {
  readonly days: number;
  readonly bytes: number;
}

export interface RetentionParts {
  readonly index: Pick<StateIndex, "idleSessions" | "setSessionBytes" | "totalBytes">;
  readonly limits: RetentionLimits;
  /** Deletes a session unless it is in use. @returns whether it is gone */
  readonly deleteIdle: (sessionId: string) => Promise<boolean>;
  /** What a session takes on the disk; undefined where that cannot be found out now. */
  readonly measure: (sessionId: string, signal: AbortSignal) => Promise<number | undefined>;
  readonly now: () => Date;
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

/**
 * Makes the retention and begins with it; without a limit it does nothing.
 *
 * A session counts from its last turn's end. One that is in use, by a turn, a client that follows it or an open terminal, is left alone. The requests
 * of what is deleted keep their tombstones (law 10), and a deletion that is broken off goes on at the next start, as every
 * deletion of a session does.
 */
export function startRetention(parts: RetentionParts): Retention {
  const { index, limits, deleteIdle, measure, now, observer, logger } = parts;
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
    if (limits.days === 0) return;
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
    let { bytes: total } = index.totalBytes();
    if (total <= limits.bytes) return;
    await eachIdle(EVER, async (id, bytes) => {
      if (await retire(id, "bytes")) total -= bytes;
      return total > limits.bytes;
    });
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
