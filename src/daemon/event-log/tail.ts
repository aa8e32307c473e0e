import { cutLines, type LoggedLine } from "./logged-lines.ts";

/** What was just written, and where in the log. */
export interface FreshBytes {
  readonly offset: number;
  readonly bytes: Buffer;
  /** Of each of its events. */
  readonly types: readonly string[];
}

/** The lines of it: the same ones for every reader. */
export interface FreshLines {
  readonly sizeBytes: number;
  readonly lines: readonly LoggedLine[];
}

/** Where the whole lines of a log end at this moment, and the sign that it has grown. */
export interface LogTail {
  /** Bytes that are whole lines. */
  size(): number;
  lastSeq(): number;
  /** True once nothing more will be written. */
  isEnded(): boolean;
  /** Waits for changes until the signal aborts. */
  watch(signal: AbortSignal): TailWatch;
  /**
   * What was last written, for a reader who has read all before it: it need not be read back from the disk. Undefined for
   * any other reader.
   */
  freshAt(offset: number): FreshLines | undefined;
}

/** One reader's wait. */
export interface TailWatch {
  /** Resolves at the next change, or when the signal aborts. */
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

/** A turn holds no more than this for its readers; longer pieces are read from the disk. */
const MAX_FRESH_BYTES = 65_536;

/** Makes the tail of a log with so many bytes and events. */
export function createTail(initialSize: number, initialSeq: number): WritableTail {
  let [size, lastSeq, isEnded] = [initialSize, initialSeq, false];
  let waiting = new Set<() => void>();
  let latest: (FreshLines & { readonly offset: number }) | undefined;

  function wakeAll(): void {
    const woken = waiting;
    waiting = new Set();
    for (const wake of woken) wake();
  }

  return {
    size: () => size,
    lastSeq: () => lastSeq,
    isEnded: () => isEnded,
    watch(signal) {
      let resolve = (): void => {};
      const wake = (): void => {
        waiting.delete(wake);
        resolve();
      };
      // Once for all of the reader's waits: a listener for each would be what a line costs most of.
      signal.addEventListener("abort", wake);
      return {
        changed() {
          if (signal.aborted || isEnded) return Promise.resolve();
          return new Promise((resolveNext) => {
            resolve = resolveNext;
            waiting.add(wake);
          });
        },
        close() {
          signal.removeEventListener("abort", wake);
          wake();
        },
      };
    },
    freshAt: (offset) => (latest?.offset === offset ? latest : undefined),
    advance(newSize, newSeq, fresh) {
      const isKept = fresh !== undefined && waiting.size > 0 && fresh.bytes.length <= MAX_FRESH_BYTES;
      latest = isKept ? keep(fresh, lastSeq) : undefined;
      size = newSize;
      lastSeq = newSeq;
      wakeAll();
    },
    end() {
      isEnded = true;
      latest = undefined;
      wakeAll();
    },
  };
}

function keep({ offset, bytes, types }: FreshBytes, seqBefore: number): FreshLines & { readonly offset: number } {
  return { offset, sizeBytes: bytes.length, lines: cutLines(Buffer.from(bytes), seqBefore, types) };
}
