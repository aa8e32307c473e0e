import { randomUUID } from "node:crypto";
import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { ownFailure } from "../outcome/own-failure.ts";
import type { TurnFacts } from "../outcome/conclude.ts";

/** So little is left where a disk is full: what a CLI writes next does not fit, whatever the block size. */
const FULL_BYTES = 262_144;

/** What keeps a turn from being let in, as one sentence; undefined where there is room for one. Costs one system call. */
export async function findShortage(stateDirectory: string, minFreeBytes: number): Promise<string | undefined> {
  const free = await freeBytes(stateDirectory);
  if (free >= minFreeBytes) return undefined;
  return `${free} bytes are free on the disk of the state directory, fewer than TURND_MIN_FREE_BYTES (${minFreeBytes}); delete sessions or enlarge it`;
}

/**
 * Makes sure that the state directory takes what a turn would write: by writing.
 *
 * @throws {Error} whose message is what is wrong
 */
export async function checkStateDisk(stateDirectory: string, minFreeBytes: number): Promise<void> {
  const shortage = await findShortage(stateDirectory, minFreeBytes);
  if (shortage !== undefined) throw new Error(shortage);
  // A name of its own: what is left by a daemon that was killed is not used again.
  const path = join(stateDirectory, `probe-${randomUUID()}`);
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile("turnd\n");
    await file.sync();
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

/**
 * The failure of a turn whose process failed beside a full disk, where its own words show no other cause.
 *
 * @param facts - what decides the turn's end as far as it is known
 */
export async function findFullDisk(stateDirectory: string, facts: TurnFacts): Promise<TurnFacts["halt"]> {
  const { endedBy, ending } = facts;
  if (facts.halt !== undefined || endedBy !== null) return facts.halt;
  if (ending?.failure === undefined || ending.failure.isProven) return undefined;
  const free = await freeBytes(stateDirectory).catch(() => Infinity);
  if (free >= FULL_BYTES) return undefined;
  return ownFailure(
    "storage_error",
    `${ending.failure.message} The disk of the state directory is full: ${free} bytes are free.`,
  );
}

async function freeBytes(path: string): Promise<number> {
  // What is free for those who are not root: the CLIs.
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
