import { readArguments } from "./process-table.ts";

/** A keeper on a full or read-only disk retries for ever, and its title shows it: waiting longer does not help. */
const CANNOT_WRITE_MS = 6_000;
/**
 * For a keeper whose title shows nothing: it is slow or suspended, and the exit it has to write would be lost with it.
 */
const SILENT_MS = 30_000;
/** Part of that title. Source: `sandbox/keeper`. */
const CANNOT_WRITE = ": cannot write exit.json: ";

/** Decides how long to wait for a living keeper that has only the exit of its command left to write. */
export interface KeeperDeadline {
  /** Counts one check in which the keeper has not written it yet. */
  isOver(): boolean;
}

/**
 * Starts the wait for a keeper whose command, or whole tree, has ended.
 *
 * @param leastLooks - checks that must fail first: where the machine was suspended meanwhile, elapsed time proves
 * nothing
 */
export function createKeeperDeadline(keeperPid: number, leastLooks: number): KeeperDeadline {
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
