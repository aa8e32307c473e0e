import { watch, type WatchEventType } from "node:fs";

/**
 * Reports changes to a file, and that it is renamed or removed, where the system gives notices of them.
 *
 * Notices are a hint: a file system may give none, and a user's watches may be used up. So callers poll too.
 * @returns a function that ends it
 */
export function watchIfPossible(path: string, notify: (event: WatchEventType) => void): () => void {
  try {
    const watcher = watch(path, { persistent: false }, notify);
    watcher.on("error", () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => {};
  }
}
