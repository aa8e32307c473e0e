import { createHash } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasCode, makeGroup, readMembers, type GroupLimits } from "./cgroup-files.ts";
import {
  assertAlone,
  assertOnlyOwn,
  CONTROLLERS,
  findGroupPlaces,
  GroupsUnusableError,
  LEAF,
  locateOwnGroups,
  mustBeLeft,
  toUnusable,
  type GroupPlace,
} from "./cgroup-places.ts";
import { createGroups, type GroupParent, type GroupsState } from "./cgroup.ts";

export interface GroupsOptions {
  /** Distinguishes the groups of this turnd from those of others. */
  readonly stateDirectory: string;
  readonly limits: GroupLimits;
  /** For tests of hierarchies without the usual ones. */
  readonly controllers?: readonly string[];
}

/**
 * Prepares control groups for turns and shells, and removes empty ones that an earlier turnd left.
 *
 * In version 2 this moves turnd into a group of its own below the one it was started in.
 * Does not throw for what the system does not allow: it returns the reason, and turns run without groups.
 */
export function openCommandGroups({ stateDirectory, limits, controllers = CONTROLLERS }: GroupsOptions): GroupsState {
  try {
    const name = nameOf(stateDirectory);
    const places = findGroupPlaces(controllers);
    for (const place of places) openPlace(place, controllers);
    const parents = places.map((place) => parentIn(place, name, controllers));
    const groups = createGroups(parents, limits);
    groups.removeEmpty();
    for (const parent of parents) parent.prepare();
    return { groups };
  } catch (error) {
    if (error instanceof GroupsUnusableError) return { reason: error.message };
    throw error;
  }
}

/**
 * Removes empty groups that an earlier turnd left, where this one makes none. Does not throw for what is not allowed.
 */
export function removeCommandGroups(stateDirectory: string): void {
  try {
    const name = nameOf(stateDirectory);
    const parents = locateOwnGroups(CONTROLLERS).map((place) => parentIn(place, name, CONTROLLERS));
    createGroups(parents, { maxProcesses: 0, memoryBytes: 0 }).removeEmpty();
  } catch (error) {
    if (!(error instanceof GroupsUnusableError)) throw error;
  }
}

/** In another mount namespace the same path could be another directory. */
function nameOf(stateDirectory: string): string {
  const { dev, ino } = statSync(stateDirectory);
  const hash = createHash("sha256").update(`${dev}:${ino}:${stateDirectory}`);
  return `turnd-${hash.digest("hex").slice(0, 16)}`;
}

function openPlace(place: GroupPlace, controllers: readonly string[]): void {
  try {
    if (mustBeLeft(place)) moveIntoLeaf(place);
    if (place.version === 2) enable(place.directory, controllers);
  } catch (error) {
    throw toUnusable(error, place.directory);
  }
}

function parentIn(
  { version, directory: above }: GroupPlace,
  name: string,
  controllers: readonly string[],
): GroupParent {
  const directory = join(above, name);
  return {
    directory,
    prepare() {
      try {
        makeGroup(directory);
        assertOnlyOwn(directory);
        if (version === 2) enable(directory, controllers);
      } catch (error) {
        throw toUnusable(error, directory);
      }
    },
  };
}

function moveIntoLeaf(place: GroupPlace): void {
  const leaf = join(place.directory, LEAF);
  makeGroup(leaf);
  // Until a scan finds none: a process that is moved may have started another one meanwhile.
  for (let looks = 0; ; looks += 1) {
    const members = readMembers(place.directory);
    if (members.length === 0) return;
    assertAlone(place);
    if (looks === MAX_LOOKS) throw new GroupsUnusableError(`new programs keep starting in ${place.directory}`);
    for (const pid of members) moveTo(leaf, pid);
  }
}

const MAX_LOOKS = 100;

function moveTo(directory: string, pid: number): void {
  try {
    writeFileSync(join(directory, "cgroup.procs"), String(pid));
  } catch (error) {
    // It ended by itself.
    if (!hasCode(error, "ESRCH")) throw error;
  }
}

function enable(directory: string, controllers: readonly string[]): void {
  const path = join(directory, "cgroup.subtree_control");
  const enabled = readFileSync(path, "utf8").trim().split(" ");
  const missing = controllers.filter((controller) => !enabled.includes(controller));
  if (missing.length > 0) writeFileSync(path, missing.map((controller) => `+${controller}`).join(" "));
}
