import { setTimeout as delay } from "node:timers/promises";
import type { RunEvent } from "../../protocol/events.ts";
import type { Storage } from "../../storage/storage.ts";
import { deleted, readPage, type EventPageResult, type EventSource } from "./read-page.ts";

/** Reads the events of runs, and waits for more. */
export interface RunEvents {
  /** At most `limit` events, fewer where they are large. @throws {ApiProblem} events_expired, cursor_beyond_end */
  page(source: EventSource, afterSeq: number, limit: number): Promise<EventPageResult>;
  /** Pages as they come, until `end`; returns early when the signal aborts. */
  follow(source: EventSource, afterSeq: number, signal: AbortSignal): AsyncGenerator<readonly RunEvent[]>;
  /** Resolves when the run has ended; false when the signal aborted before. */
  waitForEnd(runId: string, signal: AbortSignal): Promise<boolean>;
  /** Begins to listen; look at the rows after this, then wait. */
  arm(channel: "svc_events" | "svc_requests", id: string): NoticeWait;
  close(): Promise<void>;
}

/** A wait that began before its caller looked, so that nothing that comes in between is missed. */
export interface NoticeWait {
  /** Resolves at a notice, at an abort, and after the poll's time at the latest. */
  wait(signal: AbortSignal): Promise<void>;
  disarm(): void;
}

const PAGE = 200;
/** Notices can be lost on PostgreSQL; on PGlite they cannot. Law: the row is the truth. */
const POLL_MS = { postgres: 1_000, pglite: 5_000 } as const;

export async function createRunEvents(storage: Storage): Promise<RunEvents> {
  const waiting = new Map<string, Set<() => void>>();
  const reading = new Map<string, Promise<EventPageResult>>();
  const wake = (key: string): void => {
    for (const resolve of waiting.get(key) ?? []) resolve();
  };
  const ends = await Promise.all(
    (["svc_events", "svc_requests"] as const).map((channel) =>
      storage.listen(channel, {
        onNotice(payload) {
          // A read that is under way may have begun before this: who comes now reads anew.
          for (const key of reading.keys()) if (key.startsWith(`${payload}:`)) reading.delete(key);
          wake(`${channel}:${payload}`);
        },
        onGap() {
          for (const key of waiting.keys()) wake(key);
        },
      }),
    ),
  );

  function arm(channel: string, id: string): NoticeWait {
    const key = `${channel}:${id}`;
    const notice = Promise.withResolvers<void>();
    const waiters = waiting.get(key) ?? new Set();
    waiters.add(notice.resolve);
    waiting.set(key, waiters);
    const disarm = (): void => {
      waiters.delete(notice.resolve);
      if (waiters.size === 0 && waiting.get(key) === waiters) waiting.delete(key);
    };
    return {
      disarm,
      async wait(signal) {
        const timer = new AbortController();
        try {
          const limits = AbortSignal.any([timer.signal, signal]);
          // An abort, of the caller or of the timer, ends the wait; the caller looks at its signal.
          await Promise.race([
            notice.promise,
            delay(POLL_MS[storage.engine], undefined, { signal: limits }).catch(() => undefined),
          ]);
        } finally {
          timer.abort();
          disarm();
        }
      },
    };
  }

  /** Readers of one run that wait at the same event share the read. */
  function page(source: EventSource, afterSeq: number, limit: number): Promise<EventPageResult> {
    const key = `${source.runId}:${afterSeq}:${limit}`;
    const known = reading.get(key);
    if (known !== undefined) return known;
    const read = readPage(storage, source, afterSeq, limit).finally(() => {
      if (reading.get(key) === read) reading.delete(key);
    });
    reading.set(key, read);
    return read;
  }

  return {
    page,
    arm,
    async *follow(source, afterSeq, signal) {
      let cursor = afterSeq;
      while (!signal.aborted) {
        const armed = arm("svc_events", source.runId);
        try {
          const { events, lastSeq, hasEnded } = await page(source, cursor, PAGE);
          if (events.length > 0) {
            yield events;
            cursor = events.at(-1)?.seq ?? cursor;
          }
          if (hasEnded && cursor >= lastSeq) return;
          if (cursor >= lastSeq) await armed.wait(signal);
        } finally {
          armed.disarm();
        }
      }
    },
    async waitForEnd(runId, signal) {
      for (;;) {
        const armed = arm("svc_events", runId);
        try {
          const run = await storage.db.selectFrom("run").select("ended_at").where("id", "=", runId).executeTakeFirst();
          if (run === undefined) throw deleted(runId);
          if (run.ended_at !== null) return true;
          if (signal.aborted) return false;
          await armed.wait(signal);
        } finally {
          armed.disarm();
        }
      }
    },
    async close() {
      for (const end of ends) await end();
    },
  };
}
