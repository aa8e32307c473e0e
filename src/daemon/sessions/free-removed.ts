import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { restrictToOwner } from "../storage/restrict-to-owner.ts";
import { isDirectory, isThere } from "./entries.ts";
import type { SessionStoreOptions } from "./session-store.ts";

type FreeOptions = Pick<SessionStoreOptions, "removeTree" | "onLeft">;

/** What names a turn's request: read again where a removal was broken off. */
const RECORDS = /^(turn\.json|result\.json|request\..*)$/;
/** A caller waits for it. */
const FREE_LIMIT_MS = 10_000;

/** Removes what takes room of a session that is being removed: everything but what names the requests of its turns. */
export async function freeRemoved(root: string, { removeTree, onLeft }: FreeOptions): Promise<void> {
  const turns = join(root, "turns");
  try {
    await restrictToOwner(root, 0o711);
    if (await isDirectory(turns)) await freeTurns(turns, onLeft);
    const bounds = { limitMs: FREE_LIMIT_MS, signal: new AbortController().signal };
    if (await isThere(join(root, "home"))) await removeTree(join(root, "home"), bounds);
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
