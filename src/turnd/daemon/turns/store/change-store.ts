import { readFileSync } from "node:fs";
import { chmod, lchown, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { RunAs } from "../../process/run-as.ts";
import { removeDirectory } from "../../process/user-files/remove-directory.ts";
import { makeUserDirectory } from "../../process/user-files/user-directory.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import { makeDirectory } from "../../storage/directories.ts";
import type { Turn } from "../lifecycle/turn.ts";

export interface ChangeStoreParts {
  readonly runAs: RunAs;
  readonly sessions: Pick<SessionStore, "paths" | "update">;
}

/** Of no system: Debian leaves 65000 to 65533 to nobody. */
const FAVOURITE = 65_432;

/**
 * A group that no process of the CLIs' user is in, and that this system has numbers for; undefined where turnd is that user.
 *
 * @see user_namespaces(7), gid_map: a container may have a part of all numbers
 */
export function findAccessGroup(runAs: RunAs, map = readFileSync("/proc/self/gid_map", "utf8")): number | undefined {
  if (runAs.isSelf) return undefined;
  const ranges = map
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
  const candidates = ranges.flatMap(([first = 0, , count = 0]) => {
    const last = first + count - 1;
    return FAVOURITE >= first && FAVOURITE <= last ? [FAVOURITE, last, last - 1] : [last, last - 1];
  });
  return candidates
    .toSorted((a, b) => Math.abs(a - FAVOURITE) - Math.abs(b - FAVOURITE))
    .find((group) => group > 0 && group !== runAs.gid);
}

/** Where what git needs for a turn's diff lies. */
export function changeStoreOf({ sessions }: ChangeStoreParts, { file }: Turn): string {
  return join(sessions.paths(file.session_id).changes, file.turn_id);
}

/**
 * Makes the empty store of a turn, and removes what an earlier one left in its place or beside it: of a session one turn runs
 * at a time.
 *
 * git owns what is in it, as the CLIs' user, since it has that user's rights. Only the access group gets through the directory
 * above, which is root's: no tool can enter a store, read or change anything in it.
 * @throws the system's error
 */
export async function makeChangeStore(parts: ChangeStoreParts, turn: Turn, group: number | undefined): Promise<void> {
  const { runAs, sessions } = parts;
  const outer = sessions.paths(turn.file.session_id).changes;
  const names = await readdir(outer).catch(() => undefined);
  if (names === undefined) await makeDirectory(outer, 0o700);
  if (group !== undefined) {
    await lchown(outer, process.getuid?.() ?? 0, group);
    await chmod(outer, 0o710);
  }
  // The session's directory has another time now, by which the index recognises it.
  if (names === undefined) await sessions.update(turn.file.session_id, {});
  for (const name of names ?? []) await removeDirectory(join(outer, name), { runAs });
  await makeUserDirectory(changeStoreOf(parts, turn), runAs);
}

/** Removes the store of a turn. @throws {RemovalError} where a part of it is left */
export async function removeChangeStore(parts: ChangeStoreParts, turn: Turn): Promise<void> {
  await removeDirectory(changeStoreOf(parts, turn), parts);
}
