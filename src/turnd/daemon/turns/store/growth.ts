import { createTail, type WritableTail } from "../../event-log/tail.ts";

/** Notices that sessions get turns; of a session that no one waits for nothing is kept. */
export interface Growth {
  /** Resolves when the session gets another turn or is removed, or when the signal aborts. */
  wait(sessionId: string, signal: AbortSignal): Promise<void>;
  /** Whether anyone waits for it. */
  isAwaited(sessionId: string): boolean;
  advance(sessionId: string): void;
  end(sessionId: string): void;
}

/** Makes the notices of a store. */
export function createGrowth(): Growth {
  const awaited = new Map<string, { readonly tail: WritableTail; waiters: number }>();

  return {
    async wait(sessionId, signal) {
      const entry = awaited.get(sessionId) ?? { tail: createTail(0, 0), waiters: 0 };
      awaited.set(sessionId, entry);
      entry.waiters += 1;
      const watch = entry.tail.watch(signal);
      try {
        await watch.changed();
      } finally {
        watch.close();
        entry.waiters -= 1;
        if (entry.waiters === 0 && awaited.get(sessionId) === entry) awaited.delete(sessionId);
      }
    },
    isAwaited: (sessionId) => awaited.has(sessionId),
    advance: (sessionId) => awaited.get(sessionId)?.tail.advance(0, 0),
    end(sessionId) {
      awaited.get(sessionId)?.tail.end();
      awaited.delete(sessionId);
    },
  };
}
