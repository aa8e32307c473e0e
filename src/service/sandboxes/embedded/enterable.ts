import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { runUserTask, type User } from "./user-task.ts";

const LIMIT_MS = 30_000;

/**
 * The directory above a path, or the path itself, that a user cannot enter; undefined where the whole way is open.
 *
 * Directories that are not there yet are left out: what makes them gives them a mode.
 * The kernel answers, so that access control lists and mounts count too.
 * @throws where there is no answer
 */
export async function findClosedDirectory(path: string, user: User): Promise<string | undefined> {
  const way: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    way.unshift(at);
    if (at === dirname(at)) break;
  }
  const isThere: string[] = [];
  for (const directory of way) if (await isDirectory(directory)) isThere.push(directory);
  const last = isThere.at(-1);
  // Nothing is closed where the last can be entered.
  if (last === undefined || (await canEnter(last, user))) return undefined;
  // From the root down, so that the outermost closed one is named.
  for (const directory of isThere) if (!(await canEnter(directory, user))) return directory;
  return undefined;
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function canEnter(directory: string, user: User): Promise<boolean> {
  const { answer, reason } = await runUserTask(["enterable", directory], user, {
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  if (answer === "exited 0") return true;
  if (answer === "exited 1" && reason === "") return false;
  throw new Error(`uid ${user.uid} could not be asked whether it can enter ${directory}: ${reason || answer}`);
}
