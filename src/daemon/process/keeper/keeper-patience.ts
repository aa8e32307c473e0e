import { readArguments } from "./process-table.ts";

/** On a full or read-only disk a keeper tries for ever, and says so: more time is no use to it. */
const CANNOT_WRITE_MS = 6_000;
/** For a keeper that says nothing: it is slow, or stands still, and what it is to write would be lost with it. */
const SILENT_MS = 30_000;
/** What it says. Source: `sandbox/keeper`. */
const CANNOT_WRITE = ": cannot write exit.json: ";

/** Tells how long to wait for a living keeper that has only the exit of its command left to write. */
export interface KeeperPatience {
  /** Counts one look at what it has not done yet. */
  isOver(): boolean;
}

/**
 * Begins to wait for a keeper whose command, or whole tree, has gone.
 *
 * @param leastLooks - where the machine stood still meanwhile, the time alone proves nothing
 */
export function createPatience(keeperPid: number, leastLooks: number): KeeperPatience {
  const since = Date.now();
  let looks = 0;
  return {
    isOver() {
      looks += 1;
      const elapsedMs = Date.now() - since;
      if (looks <= leastLooks || elapsedMs <= CANNOT_WRITE_MS) return false;
      return elapsedMs > SILENT_MS || readArguments(keeperPid)?.includes(CANNOT_WRITE) === true;
    },
  };
}
