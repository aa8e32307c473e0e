/** Removes directories now, or later where that is not possible now. */
export interface Removals {
  /** Tries at once and for a short while; then tries again from time to time. Never throws. */
  remove(path: string): Promise<void>;
  /** Enqueues what an earlier turnd left. */
  resume(path: string): void;
  /** Stops what is under way. */
  close(): Promise<void>;
}

export interface RemovalsOptions {
  /** Throws when a part is left after the limit. */
  readonly removeTree: (
    path: string,
    bounds: { readonly limitMs: number; readonly signal: AbortSignal },
  ) => Promise<void>;
  /** Called once for each directory of which a part is left. */
  readonly onLeft: (path: string, error: unknown) => void;
  /** Between two rounds. */
  readonly retryMs?: number;
}

/** A caller waits for it. */
const FIRST_LIMIT_MS = 10_000;
const LATER_LIMIT_MS = 60_000;
const RETRY_MS = 60_000;

/** Makes the removals of a store. No process of the CLIs' user can make a caller, or a start, wait for long. */
export function createRemovals({ removeTree, onLeft, retryMs = RETRY_MS }: RemovalsOptions): Removals {
  const closing = new AbortController();
  const { signal } = closing;
  /** By path: whether it has been reported. */
  const left = new Map<string, boolean>();
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();

  async function tryOnce(path: string, limitMs: number): Promise<void> {
    try {
      await removeTree(path, { limitMs, signal });
      left.delete(path);
    } catch (error) {
      // A stop says nothing about the directory: the next start continues.
      if (signal.aborted) return;
      if (left.get(path) !== true) onLeft(path, error);
      left.set(path, true);
      schedule(retryMs);
    }
  }

  function schedule(delayMs: number): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      round = runRound();
    }, delayMs);
    timer.unref();
  }

  async function runRound(): Promise<void> {
    for (const path of left.keys()) {
      if (!signal.aborted) await tryOnce(path, LATER_LIMIT_MS);
    }
  }

  return {
    remove: (path) => tryOnce(path, FIRST_LIMIT_MS),
    resume(path) {
      left.set(path, false);
      schedule(0);
    },
    async close() {
      closing.abort();
      clearTimeout(timer);
      await round;
    },
  };
}
