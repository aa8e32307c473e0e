import { cutLines, type LoggedLine } from "./logged-lines.ts";

/** What was just written. */
export interface FreshBytes {
  readonly bytes: Buffer;
  readonly events: readonly { readonly type: string }[];
}

/** The lines of it: the same ones for every reader. */
export interface FreshLines {
  readonly sizeBytes: number;
  readonly lines: readonly LoggedLine[];
}

/**
 * Takes what was just written, in the moment in which it is in the log: it need not be read back from the disk. The bytes of
 * the lines are written over after the call.
 *
 * @returns whether the reader goes on waiting; otherwise it is woken
 */
export type TakeFresh = (fresh: FreshLines) => boolean;

/** Where the whole lines of a log end at this moment, and the sign that it has grown. */
export interface LogTail {
  /** Bytes that are whole lines. */
  size(): number;
  lastSeq(): number;
  /** True once nothing more will be written. */
  isEnded(): boolean;
  /**
   * Waits for changes until the signal aborts.
   *
   * @param take - called while the reader waits, with what it waits for; a longer piece is to be read from the disk
   */
  watch(signal: AbortSignal, take?: TakeFresh): TailWatch;
}

/** One reader's wait. */
export interface TailWatch {
  /** Resolves at the next change that was not taken, or when the signal aborts; rejects with what `take` throws. */
  changed(): Promise<void>;
  /** Called when the reader leaves. */
  close(): void;
}

/** The writer's side. */
export interface WritableTail extends LogTail {
  /** @param fresh - what is in the log now and was not before; its bytes may change after this call */
  advance(size: number, lastSeq: number, fresh?: FreshBytes): void;
  end(): void;
}

/** Longer pieces come in a burst, and are read from the disk: no reader is ahead of the others by much. */
const MAX_FRESH_BYTES = 65_536;

/** Makes the tail of a log with so many bytes and events. */
export function createTail(initialSize: number, initialSeq: number): WritableTail {
  let [size, lastSeq, isEnded] = [initialSize, initialSeq, false];
  const waiting = new Set<(fresh?: FreshLines) => void>();

  function notifyAll(fresh?: FreshLines): void {
    for (const notify of waiting) notify(fresh);
  }

  return {
    size: () => size,
    lastSeq: () => lastSeq,
    isEnded: () => isEnded,
    watch(signal, take) {
      let wait = Promise.withResolvers<void>();
      function notify(fresh?: FreshLines): void {
        try {
          if (fresh !== undefined && take?.(fresh) === true) return;
          wait.resolve();
        } catch (error) {
          // It is the reader's own; the log and its other readers go on.
          wait.reject(error);
        }
        waiting.delete(notify);
      }
      const wake = (): void => notify();
      // Once for all of the reader's waits: a listener for each would be what a line costs most of.
      signal.addEventListener("abort", wake);
      return {
        changed() {
          if (signal.aborted || isEnded) return Promise.resolve();
          wait = Promise.withResolvers<void>();
          waiting.add(notify);
          return wait.promise;
        },
        close() {
          signal.removeEventListener("abort", wake);
          wake();
        },
      };
    },
    advance(newSize, newSeq, fresh) {
      const seqBefore = lastSeq;
      [size, lastSeq] = [newSize, newSeq];
      if (waiting.size === 0) return;
      notifyAll(fresh !== undefined && fresh.bytes.length <= MAX_FRESH_BYTES ? cut(fresh, seqBefore) : undefined);
    },
    end() {
      isEnded = true;
      notifyAll();
    },
  };
}

function cut({ bytes, events }: FreshBytes, seqBefore: number): FreshLines {
  return { sizeBytes: bytes.length, lines: cutLines(bytes, seqBefore, events) };
}
