import { constants } from "node:fs";
import { open } from "node:fs/promises";

/**
 * Makes sure that nobody but turnd can change what a directory of its state holds, before turnd goes by a path through it.
 *
 * A state that came with a volume, or was written while the CLIs ran as turnd's own user, may hold anything: a link in the
 * place of a directory, one of another user's, or one that others can write. The first two are refused; the last, which
 * volumes with a group of their own make of every directory, is closed.
 * @throws {Error} saying whose it is, or the system's error: no directory, a link to one among them, or it cannot be closed
 */
export async function closeToOthers(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const { uid, mode } = await directory.stat();
    if (uid !== process.getuid?.()) throw new Error(`it belongs to uid ${uid}, who could change it`);
    if ((mode & 0o022) !== 0) await directory.chmod(mode & 0o7755);
  } finally {
    await directory.close();
  }
}
