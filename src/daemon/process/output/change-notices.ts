import { watch } from "node:fs";

/**
 * Reports changes to a file, or of entries of a directory by name, where the system gives notices of them.
 *
 * Notices are a hint: a file system may give none, and a user's watches may be used up. So callers poll too.
 * @returns a function that ends it
 */
export function watchIfPossible(path: string, notify: (name: string | null) => void): () => void {
  try {
    const watcher = watch(path, { persistent: false }, (_, name) => notify(name));
    watcher.on("error", () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => {};
  }
}
