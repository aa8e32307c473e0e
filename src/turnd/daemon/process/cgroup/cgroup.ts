import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  CLOSED,
  hasCode,
  listGroups,
  makeGroup,
  readHits,
  readMembers,
  removeGroup,
  setLimits,
  writeIfThere,
  type GroupHits,
  type GroupLimits,
} from "./cgroup-files.ts";
import { assertOnlyOwn } from "./cgroup-places.ts";
import { ResourcesExhaustedError, throwIfExhausted } from "../exhausted.ts";

/** A MiB, the unit of the setting. */
export const MIB = 1_048_576;

/** The control group of one turn or shell. Exists on disk from `make` to `remove`. */
export interface CommandGroup {
  /** One directory per hierarchy: a process belongs to the group when it is in all of them. */
  readonly directories: readonly string[];
  /** Pids of the processes in it. */
  members(): number[];
  /** Lets nothing more start in it, and kills everything in it at once where the kernel can. `make` opens it again. */
  close(): void;
}

/** turnd's control groups. Only turnd names them; the CLIs' user owns none of their files. */
export interface CommandGroups {
  readonly limits: GroupLimits;
  /**
   * Makes the group of a turn or shell with its limits. An existing group is used, and gets the limits it lacks.
   *
   * @throws {GroupError}
   * @throws {ResourcesExhaustedError}
   */
  make(marker: string): CommandGroup;
  /** The same without making it: a group that does not exist has no members. */
  find(marker: string): CommandGroup;
  readHits(marker: string): GroupHits;
  /** Removes a group whose processes have ended. @returns false where a process is left; later calls try it again */
  remove(marker: string): Promise<boolean>;
  /** Removes every group without a process, and its parent where no group is left. Never throws. */
  removeEmpty(): void;
}

/** What turnd found: groups, or why there are none. */
export type GroupsState =
  | { readonly groups: CommandGroups; readonly reason?: undefined }
  | { readonly groups?: undefined; readonly reason: string };

/** A turn or shell cannot have its control group, and must not run without it. */
export class GroupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "GroupError";
  }
}

/** A directory of turnd that holds the groups of turns and shells, one per hierarchy. */
export interface GroupParent {
  readonly directory: string;
  /** Makes it where it does not exist. */
  prepare(): void;
}

/** A group whose last process has just ended can be busy for a moment. A turn's end waits this long at most. */
const REMOVE_LIMIT_MS = 250;

/** Makes, finds and removes groups below these directories. Changes nothing by itself. */
export function createGroups(parents: readonly GroupParent[], limits: GroupLimits): CommandGroups {
  const left = new Set<string>();
  const closed = new Map<string, GroupHits>();

  function find(marker: string): CommandGroup {
    // It becomes the name of a directory.
    if (!/^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/.test(marker)) throw new Error(`${marker} cannot name a control group`);
    const directories = parents.map(({ directory }) => join(directory, marker));
    return {
      directories,
      members: () => [...new Set(directories.flatMap(readMembers))],
      close() {
        // From now on a refused fork says nothing about the limit.
        if (!closed.has(marker)) closed.set(marker, readHits(directories));
        for (const directory of directories) {
          writeIfThere(join(directory, "pids.max"), CLOSED);
          writeIfThere(join(directory, "cgroup.kill"), "1");
        }
      },
    };
  }

  function tryRemove(marker: string): boolean {
    const isGone = find(marker).directories.map(removeGroup).every(Boolean);
    if (isGone) {
      left.delete(marker);
      closed.delete(marker);
    } else left.add(marker);
    return isGone;
  }

  return {
    limits,
    find,
    make(marker) {
      const group = find(marker);
      try {
        for (const parent of parents) makeBelow(parent, join(parent.directory, marker));
        const missing = setLimits(group.directories, limits);
        closed.delete(marker);
        if (missing.length > 0) throw new GroupError(`the control group has no ${missing.join(" and no ")}`);
      } catch (error) {
        throw toGroupError(error);
      }
      return group;
    },
    readHits(marker) {
      const hits = readHits(find(marker).directories);
      return { ...hits, refused: closed.get(marker)?.refused ?? hits.refused };
    },
    async remove(marker) {
      for (const earlier of left) if (earlier !== marker) tryRemove(earlier);
      const deadline = Date.now() + REMOVE_LIMIT_MS;
      while (!tryRemove(marker)) {
        if (Date.now() > deadline) return false;
        await delay(5);
      }
      return true;
    },
    removeEmpty() {
      for (const { directory } of parents) {
        try {
          for (const name of listGroups(directory)) removeGroup(join(directory, name));
          removeGroup(directory);
        } catch {
          // A group that cannot be removed does no harm: it holds no process, and the next start tries again.
        }
      }
    },
  };
}

function makeBelow(parent: GroupParent, directory: string): void {
  try {
    makeGroup(directory);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
    parent.prepare();
    makeGroup(directory);
  }
  assertOnlyOwn(directory);
}

function toGroupError(error: unknown): unknown {
  if (error instanceof GroupError || !(error instanceof Error)) return error;
  // The kernel's identifiers of groups are used up.
  if (hasCode(error, "ENOSPC")) return new ResourcesExhaustedError("the system has no control group left");
  if ("code" in error) throwIfExhausted(String(error.code));
  return new GroupError(`the control group could not be made: ${error.message}`, { cause: error });
}
