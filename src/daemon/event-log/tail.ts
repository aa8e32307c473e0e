/** Where the whole lines of a log end at this moment, and the sign that it has grown. */
export interface LogTail {
  /** Bytes that are whole lines. */
  size(): number;
  lastSeq(): number;
  /** True once nothing more will be written. */
  isEnded(): boolean;
  /** Resolves at the next change, or when the signal aborts. */
  changed(signal: AbortSignal): Promise<void>;
}

/** The writer's side. */
export interface WritableTail extends LogTail {
  advance(size: number, lastSeq: number): void;
  end(): void;
}

/** Makes the tail of a log with so many bytes and events. */
export function createTail(initialSize: number, initialSeq: number): WritableTail {
  let [size, lastSeq, isEnded] = [initialSize, initialSeq, false];
  let waiting = new Set<() => void>();

  function wakeAll(): void {
    const woken = waiting;
    waiting = new Set();
    for (const wake of woken) wake();
  }

  return {
    size: () => size,
    lastSeq: () => lastSeq,
    isEnded: () => isEnded,
    changed(signal) {
      if (signal.aborted || isEnded) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = (): void => {
          signal.removeEventListener("abort", wake);
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
        signal.addEventListener("abort", wake, { once: true });
      });
    },
    advance(newSize, newSeq) {
      [size, lastSeq] = [newSize, newSeq];
      wakeAll();
    },
    end() {
      isEnded = true;
      wakeAll();
    },
  };
}
