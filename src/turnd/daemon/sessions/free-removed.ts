import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { restrictToOwner } from "../storage/restrict-to-owner.ts";
import type { RemovalsOptions } from "../storage/removals.ts";
import { isDirectory, isThere } from "./entries.ts";
import { readOwnWorkspace } from "./own-workspace.ts";
import type { SessionStoreOptions } from "./store-options.ts";

type FreeOptions = Pick<SessionStoreOptions, "removeTree" | "removeWorkspace" | "onLeft">;
type Bounds = Parameters<RemovalsOptions["removeTree"]>[1];

/** What names a turn's request: read again where a removal was broken off. */
const RECORDS = /^(turn\.json|result\.json|request\..*)$/;
/** A caller waits for it. */
const FREE_LIMIT_MS = 10_000;

/** Removes what takes room of a session that is being removed: everything but what names the requests of its turns. */
export async function freeRemoved(root: string, options: FreeOptions): Promise<void> {
  const workspace = await readOwnWorkspace(root);
  try {
    const bounds = { limitMs: FREE_LIMIT_MS, signal: new AbortController().signal };
    if (workspace !== undefined) await options.removeWorkspace(workspace, bounds);
  } catch (error) {
    options.onLeft(root, error);
  }
  await freeState(root, options);
}

/**
 * Removes a detached session: first the workspace that turnd has made for it, which its file names, then all the rest.
 *
 * @throws where a part is left; what takes room of the rest is removed
 */
export async function removeSession(root: string, bounds: Bounds, options: FreeOptions): Promise<void> {
  const workspace = await readOwnWorkspace(root);
  try {
    if (workspace !== undefined) await options.removeWorkspace(workspace, bounds);
  } catch (error) {
    if (!bounds.signal.aborted) await freeState(root, options);
    throw error;
  }
  await options.removeTree(root, bounds);
}

async function freeState(root: string, { removeTree, onLeft }: FreeOptions): Promise<void> {
  const turns = join(root, "turns");
  try {
    await restrictToOwner(root, 0o711);
    if (await isDirectory(turns)) await freeTurns(turns, onLeft);
    const bounds = { limitMs: FREE_LIMIT_MS, signal: new AbortController().signal };
    for (const directory of ["home", "changes"].map((name) => join(root, name))) {
      if (await isThere(directory)) await removeTree(directory, bounds);
    }
  } catch (error) {
    onLeft(root, error);
  }
}

/** What another user can change is left to the removal, which goes by descriptors. */
async function freeTurns(turns: string, onLeft: FreeOptions["onLeft"]): Promise<void> {
  await restrictToOwner(turns);
  for (const turn of await readdir(turns)) {
    const directory = join(turns, turn);
    if (!(await isDirectory(directory))) continue;
    try {
      await restrictToOwner(directory);
      const rest = (await readdir(directory)).filter((name) => !RECORDS.test(name));
      for (const name of rest) await rm(join(directory, name), { recursive: true, force: true });
    } catch (error) {
      onLeft(directory, error);
    }
  }
}
