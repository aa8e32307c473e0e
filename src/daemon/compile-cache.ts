import { lstatSync, readdirSync } from "node:fs";
import { constants, enableCompileCache } from "node:module";
import { join } from "node:path";

/** The directory of one version of Node, and the files in it. */
const LEVELS = 2;
const GROUP_OR_OTHERS_WRITE = 0o022;

/**
 * Lets Node take compiled code from a directory, and put it there when the process ends.
 *
 * What lies in it is run as this process: another user who could write it would run as root. So it is used only where
 * the directory, the one that holds it, and everything in it belong to root or to this user, and no other user can
 * write it. To be called before the code is loaded. Never throws: without it the same code is compiled again.
 * @param directory - made when the program is bundled; where it is missing there is no cache
 * @returns why it is not used; undefined where it is
 */
export function useCompileCache(directory: string): string | undefined {
  try {
    const fault = findForeign(join(directory, ".."), 0) ?? findForeign(directory, LEVELS);
    if (fault !== undefined) return fault;
    const { status, message = "Node refuses it" } = enableCompileCache(directory);
    const { ENABLED, ALREADY_ENABLED } = constants.compileCacheStatus;
    return status === ENABLED || status === ALREADY_ENABLED ? undefined : message;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** @param levels - how many levels below it are looked at too; nothing lies deeper in a cache */
function findForeign(path: string, levels: number): string | undefined {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) return `${path} is a link`;
  if (found.uid !== 0 && found.uid !== process.geteuid?.()) return `${path} belongs to uid ${found.uid}`;
  if ((found.mode & GROUP_OR_OTHERS_WRITE) !== 0) return `others may write ${path}`;
  if (!found.isDirectory() || levels === 0) return undefined;
  for (const name of readdirSync(path)) {
    const foreign = findForeign(join(path, name), levels - 1);
    if (foreign !== undefined) return foreign;
  }
  return undefined;
}
