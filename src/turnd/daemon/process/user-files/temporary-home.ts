import { chmod, mkdtemp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { resolveProtectedPath } from "./protected-path.ts";
import { removeDirectory } from "./remove-directory.ts";
import type { RunAs } from "../run-as.ts";
import { makeUserDirectory } from "./user-directory.ts";

/** Runs a command of turnd's own in a new home. */
export type WithTemporaryHome = <T>(use: (home: string) => Promise<T>) => Promise<T>;

export interface TemporaryHomes {
  /** Where homes are made, best first; the next one where the disk is full or the CLIs' user could change the place. */
  readonly places: readonly string[];
  readonly runAs: RunAs;
  /**
   * Called once for each home that could not be removed: turnd tries again before the next one and at the next start.
   */
  readonly onLeft: (path: string, error: unknown) => void;
}

/** None can be made: every disk is full, or the CLIs' user could change every place. */
export class TemporaryHomeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TemporaryHomeError";
  }
}

const PREFIX = "probe-";
/** Where earlier versions of turnd ran all their probes; any tool could change it beforehand. */
const EARLIER = "scratch";
const LIMIT_MS = 10_000;

/**
 * Gives each command a new home of the CLIs' user, which is removed when the command has ended.
 *
 * A CLI that is asked for its version, or whether its sandbox works, must not depend on what a tool of an earlier turn
 * left: nothing is kept between two probes, and no tool knows the name of a home before it is in use.
 *
 * What it returns rejects with {@link TemporaryHomeError} where no home can be made, and as the command does.
 */
export function createTemporaryHomes(options: TemporaryHomes): WithTemporaryHome {
  const left = new Set<string>();
  const onLeft = (path: string, error: unknown): void => {
    if (!left.has(path)) options.onLeft(path, error);
    left.add(path);
  };
  const clear = async (path: string): Promise<void> => {
    if (await remove(path, { runAs: options.runAs, onLeft })) left.delete(path);
  };
  return async (use) => {
    for (const path of left) await clear(path);
    const directory = await makeOuter(options);
    try {
      const home = join(directory, "home");
      await makeUserDirectory(home, options.runAs);
      return await use(home);
    } finally {
      await clear(directory);
    }
  };
}

/** Removes homes that an earlier turnd left. Never throws. */
export async function removeTemporaryHomes(place: string, options: Omit<TemporaryHomes, "places">): Promise<void> {
  for (const name of await readdir(place)) {
    if (name === EARLIER || name.startsWith(PREFIX)) await remove(join(place, name), options);
  }
}

/** Root owns it, so that no other user can rename what is in it. */
async function makeOuter({ places, runAs }: TemporaryHomes): Promise<string> {
  let last: unknown;
  for (const place of places) {
    try {
      const safe = runAs.isSelf ? place : await resolveProtectedPath(place, runAs);
      if (safe === undefined) throw new Error(`uid ${runAs.uid} could change ${place}`);
      const directory = await mkdtemp(join(safe, PREFIX));
      await chmod(directory, 0o711);
      return directory;
    } catch (error) {
      last = error;
    }
  }
  throw new TemporaryHomeError(
    `no directory for a probe can be made: ${last instanceof Error ? last.message : String(last)}`,
  );
}

async function remove(path: string, { runAs, onLeft }: Omit<TemporaryHomes, "places">): Promise<boolean> {
  try {
    await removeDirectory(path, { runAs, limitMs: LIMIT_MS });
    return true;
  } catch (error) {
    onLeft(path, error);
    return false;
  }
}
