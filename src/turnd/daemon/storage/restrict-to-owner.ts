import { constants } from "node:fs";
import { open } from "node:fs/promises";

/**
 * Makes sure that only turnd can change and list what a directory of its state holds, before turnd uses a path through it.
 *
 * A state that came with a volume, or was written while the CLIs ran as turnd's own user, may hold anything: a link in
 * place of a directory, another user's directory, or one that others can write or list. The first two are refused. The last
 * one (volumes with a group of their own make every directory so) loses that permission.
 * @param allowed - the widest mode that it keeps: 0711 where the CLIs' user passes through
 * @throws {Error} that names the owner, or the system's error: no directory, a link, or its mode cannot be changed
 */
export async function restrictToOwner(path: string, allowed = 0o700): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const { uid, mode } = await directory.stat();
    if (uid !== process.getuid?.()) throw new Error(`it belongs to uid ${uid}, who could change it`);
    if ((mode & ~allowed & 0o7777) !== 0) await directory.chmod(mode & allowed);
  } finally {
    await directory.close();
  }
}
