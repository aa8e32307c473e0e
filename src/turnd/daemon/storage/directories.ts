import { chmodSync, mkdirSync } from "node:fs";
import { chmod, mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { stateDisk } from "./disk-pace.ts";

/** Makes a directory that is not there yet, with this mode whatever the umask. Its parent must exist. */
export async function makeNewDirectory(path: string, mode: number): Promise<void> {
  // The umask leaves the owner's rights alone.
  const isOwners = (mode & 0o077) === 0;
  await stateDisk.step(
    () => {
      mkdirSync(path, { mode });
      if (!isOwners) chmodSync(path, mode);
    },
    async () => {
      await mkdir(path, { mode });
      if (!isOwners) await chmod(path, mode);
    },
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
