import { watchIfPossible } from "./change-notices.ts";

/** Signs that files have grown. */
export interface WakeUp {
  /** Whether a file may have grown since this was last asked of it. */
  takeNews(path: string): boolean;
  /** Resolves at the next sign that there may be more to read and that was not taken; rejects with what `take` throws. */
  next(): Promise<void>;
  close(): void;
}

export interface WakeUpOptions {
  readonly paths: readonly string[];
  /** Aborted when no file grows any more. */
  readonly finished: AbortSignal;
  /** Called at each sign while it is waited for. @returns whether nothing is left to be woken for */
  readonly take: () => boolean;
}

/** Change notices are a hint. */
const POLL_MS = 250;

/**
 * Looks for growth by the system's notices, and again and again without them.
 *
 * Signs are acted on once in each turn of the event loop. Node takes notices from the system until there are none, and a
 * program that prints meanwhile makes more: acted on one by one, nothing else in turnd would run for as long as it prints.
 */
export function createWakeUp({ paths, finished, take }: WakeUpOptions): WakeUp {
  const grown = new Set(paths);
  let wait = Promise.withResolvers<void>();
  let isAwaited = false;
  /** From the moment a sign is acted on to the next turn of the event loop. */
  let hasActed = false;
  let nextTurn: NodeJS.Immediate | undefined;

  function notify(...changed: readonly string[]): void {
    for (const path of changed) grown.add(path);
    if (!isAwaited || hasActed) return;
    hasActed = true;
    try {
      isAwaited = take();
      if (!isAwaited) wait.resolve();
    } catch (error) {
      isAwaited = false;
      wait.reject(error);
    }
    nextTurn = setImmediate(afterTurn);
  }
  function afterTurn(): void {
    hasActed = false;
    if (grown.size > 0) notify();
  }
  const notifyAll = (): void => notify(...paths);
  const unwatch = finished.aborted ? [] : paths.map((path) => watchIfPossible(path, () => notify(path)));
  finished.addEventListener("abort", notifyAll, { once: true });
  // A notice may be missing: all files are looked at then.
  const timer = setTimeout(() => {
    notifyAll();
    timer.refresh();
  }, POLL_MS);

  return {
    takeNews: (path) => grown.delete(path),
    next() {
      timer.refresh();
      wait = Promise.withResolvers();
      isAwaited = !finished.aborted && grown.size === 0;
      if (!isAwaited) wait.resolve();
      return wait.promise;
    },
    close() {
      clearTimeout(timer);
      clearImmediate(nextTurn);
      finished.removeEventListener("abort", notifyAll);
      for (const close of unwatch) close();
    },
  };
}
