import { mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** Makes a directory, or uses an existing one that an interrupted attempt left. Its parent must exist. */
export function makeDirectory(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

/**
 * Makes a directory and its parents.
 *
 * turnd's own, although Node has a recursive mkdir: that one hides why it failed (ENOENT on a read-only disk) and loops
 * without end where nothing can be made, such as below /proc (measured on 22.23.0).
 */
export function makeDirectories(path: string, mode: number): void {
  try {
    makeDirectory(path, mode);
  } catch (error) {
    const isParentMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (!isParentMissing || dirname(path) === path) throw error;
    makeDirectories(dirname(path), mode);
    mkdirSync(path, { mode });
  }
}
