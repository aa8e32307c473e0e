import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";

/** Makes a directory, or finds it made: an attempt that broke off may have left it. Its parent must be there. */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

/**
 * Makes a directory and its parents.
 *
 * Our own, where Node has a recursive mkdir: that one hides why it failed (ENOENT on a read-only disk) and goes round in
 * circles where nothing can be made, such as below /proc (measured on 22.23.0).
 */
export async function makeDirectories(path: string, mode: number): Promise<void> {
  try {
    await makeDirectory(path, mode);
  } catch (error) {
    const isParentMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (!isParentMissing || dirname(path) === path) throw error;
    await makeDirectories(dirname(path), mode);
    await mkdir(path, { mode });
  }
}
