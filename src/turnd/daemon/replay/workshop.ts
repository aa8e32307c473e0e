import { constants } from "node:fs";
import { mkdtemp, open, readdir, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RecordingError } from "./recording-error.ts";

/** A new directory that only turnd can enter. */
export interface Workshop {
  /**
   * The way to it by its descriptor, whatever its name leads to: `TMPDIR` may be a directory that others can change.
   */
  readonly held: string;
  /** Removes what is in it, and its name where that is still its own. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Makes a directory below the system's temporary directory, where no other user can redirect root.
 *
 * @throws {RecordingError} if another directory was put in its place before it was opened
 */
export async function makeWorkshop(): Promise<Workshop> {
  const path = await mkdtemp(join(tmpdir(), "turnd-replay-"));
  const swapped = (): RecordingError =>
    new RecordingError(
      path,
      "is not the directory that was made there; set TMPDIR to one that only this user can change",
    );
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(
    (error: NodeJS.ErrnoException) => {
      throw ["ENOENT", "ENOTDIR", "ELOOP"].includes(error.code ?? "") ? swapped() : error;
    },
  );
  const held = `/proc/self/fd/${directory.fd}`;
  const { uid, mode } = await directory.stat();
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0 || (await readdir(held)).length > 0) {
    await directory.close();
    throw swapped();
  }
  async function remove(): Promise<void> {
    try {
      // Again where something was still being written.
      for (let names = await readdir(held); names.length > 0; names = await readdir(held)) {
        for (const name of names) await rm(join(held, name), { recursive: true, force: true, maxRetries: 3 });
      }
    } finally {
      await directory.close();
    }
    // Fails for anything that was put there instead, unless that is an empty directory.
    await rmdir(path);
  }
  let removing: Promise<void> | undefined;
  return { held, close: () => (removing ??= remove()) };
}
