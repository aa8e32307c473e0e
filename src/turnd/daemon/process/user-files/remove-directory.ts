import { constants } from "node:fs";
import { chmod, open, readdir, rmdir, unlink, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { RunAs } from "../run-as.ts";
import { runTask } from "../run-tool.ts";
import { startTimeLimit } from "../time-limit.ts";

export interface RemoveOptions {
  /** The CLIs' user: what belongs to that user is removed with that user's rights only. */
  readonly runAs: RunAs;
  /** Milliseconds for everything: a process of that user may keep filling what is being removed. */
  readonly limitMs?: number;
  /** Stops the removal. */
  readonly signal?: AbortSignal;
}

/** A part of a directory is left. Trying again later is safe. */
export class RemovalError extends Error {
  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(`${path} cannot be removed: ${reason}`, options);
    this.name = "RemovalError";
  }
}

/** A large home takes seconds; more means that a process keeps filling it. */
const LIMIT_MS = 60_000;
/** How often a directory that received new files meanwhile is emptied again. */
const MAX_TRIES = 3;
/** turnd's own directories are less than half as deep; each level holds a descriptor. */
const MAX_DEPTH = 32;
/** Not in Node's list: a handle on a directory that need not be readable. @see open(2) */
const O_PATH = 0o10_000_000;
const MAX_REASON_CHARACTERS = 300;

/**
 * Removes a directory of turnd, with what the CLIs' user owns below it. The only way to do so.
 *
 * Use it for every directory that holds, or may hold, one that the CLIs' user can write: a session, a fresh home for a
 * probe, a test stage. Make such a directory in a place where that user can neither rename nor replace it (`<state>`,
 * or `/tmp` with its sticky bit), keep its outer level root's (`mkdtemp`, mode 0700 or 0711), and give that user a
 * directory inside it (`makeUserDirectory`). Then `removeDirectory(outer, { runAs })` is all that cleaning up takes, in
 * spite of links, closed directories and living processes of that user.
 *
 * Root walks no path that the user can change. It goes down, by descriptors and never through a link, only into
 * directories that belong to turnd and that no other user can write. Any other directory is emptied by a process with
 * the user's rights, and root removes only its name, which succeeds only where it is empty.
 *
 * Resolves when nothing is left, also where nothing was there. Continues after what cannot be removed.
 * @throws {RemovalError} if a part is left: not that user's to remove, still being filled at the time limit, or busy.
 * It has been emptied as far as possible
 */
export async function removeDirectory(path: string, options: RemoveOptions): Promise<void> {
  const { runAs, limitMs = LIMIT_MS, signal } = options;
  const limit = startTimeLimit(limitMs, signal);
  try {
    await removeEntry(path, { runAs, shown: path, depth: 0, signal: limit.signal });
  } finally {
    limit.release();
  }
}

interface Walk {
  readonly runAs: RunAs;
  /** The name of the entry in messages. */
  readonly shown: string;
  readonly depth: number;
  readonly signal: AbortSignal;
}

/** @param path - names an entry of a directory that only turnd can change */
async function removeEntry(path: string, walk: Walk): Promise<void> {
  const directory = await openDirectory(path);
  try {
    if (directory === undefined) return await ignoreMissing(unlink(path));
    for (let tries = 1; ; tries += 1) {
      await emptyDirectory(directory, walk);
      try {
        return await ignoreMissing(rmdir(path));
      } catch (error) {
        if (!isCode(error, "ENOTEMPTY") || tries === MAX_TRIES) throw error;
      }
    }
  } catch (error) {
    throw error instanceof RemovalError ? error : new RemovalError(walk.shown, reasonOf(error), { cause: error });
  } finally {
    await directory?.close();
  }
}

async function emptyDirectory(directory: FileHandle, walk: Walk): Promise<void> {
  walk.signal.throwIfAborted();
  const { uid, mode } = await directory.stat();
  const isOurs = uid === process.getuid?.() && (mode & 0o022) === 0;
  if (walk.runAs.isSelf || !isOurs) return emptyAsUser(directory, walk);
  if (walk.depth === MAX_DEPTH) throw new RemovalError(walk.shown, "it is nested too deeply");
  const held = pathOf(directory);
  const errors: RemovalError[] = [];
  for (const name of await readdir(held)) {
    const below = { ...walk, shown: join(walk.shown, name), depth: walk.depth + 1 };
    await removeEntry(`${held}/${name}`, below).catch((error: unknown) => {
      if (!(error instanceof RemovalError)) throw error;
      errors.push(error);
    });
  }
  const [first] = errors;
  if (first !== undefined) throw first;
}

/** With the user's rights a link leads nowhere new; the descriptor decides which directory is emptied. */
async function emptyAsUser(directory: FileHandle, { runAs, shown, signal }: Walk): Promise<void> {
  const held = pathOf(directory);
  // A directory that turnd itself cannot enter is opened by no other process for it. The others are opened without
  // entering.
  if (runAs.isSelf) await chmod(held, 0o700);
  const { code, stderr } = await runTask(["empty"], { runAs, timeoutMs: LIMIT_MS, cwd: held, signal });
  if (code !== 0) throw new RemovalError(shown, stderr.slice(0, MAX_REASON_CHARACTERS) || `exit code ${code}`);
}

/** The directory that the descriptor stands for, whatever its path leads to by now. @see proc(5) */
function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}

/** @returns undefined where there is no directory: also for a link to one */
async function openDirectory(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return undefined;
    throw error;
  }
}

async function ignoreMissing(removing: Promise<void>): Promise<void> {
  try {
    await removing;
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
  }
}

function reasonOf(error: unknown): string {
  if (isCode(error, "ENOTEMPTY")) return "a process keeps filling it";
  return error instanceof Error ? error.message : String(error);
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
