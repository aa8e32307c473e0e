import { mkdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { stateDisk } from "./disk-pace.ts";

/** Makes a directory that is not there yet. Its parent must exist. */
export async function makeNewDirectory(path: string, mode: number): Promise<void> {
  await stateDisk.step(
    () => mkdirSync(path, { mode }),
    () => mkdir(path, { mode }),
  );
}

/** Makes a directory, or uses an existing one that an interrupted attempt left. Its parent must exist. */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  try {
    await makeNewDirectory(path, mode);
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
export async function makeDirectories(path: string, mode: number): Promise<void> {
  try {
    await makeDirectory(path, mode);
  } catch (error) {
    const isParentMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (!isParentMissing || dirname(path) === path) throw error;
    await makeDirectories(dirname(path), mode);
    await makeNewDirectory(path, mode);
  }
}
