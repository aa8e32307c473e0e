import { access } from "node:fs/promises";
import { join } from "node:path";
import { adoptStarted, type StartedProcess } from "./keeper.ts";
import { sweepTree, type EndedProcess, type ProcessTree } from "./tree.ts";

/**
 * Ends what still runs of a command whose keeper has its files in a directory: of an earlier daemon, or one abandoned.
 * Law: nothing outlives its turn.
 *
 * @returns what was ended; nothing where there was no keeper
 * @throws {SweepError} if a process does not end
 */
export async function sweepLeftovers(directory: string, mark: Omit<ProcessTree, "started">): Promise<EndedProcess[]> {
  const isThere = await access(join(directory, "started")).then(
    () => true,
    () => false,
  );
  const started = isThere ? await adoptStarted(directory) : undefined;
  return started === undefined ? [] : sweepTree({ ...mark, started });
}

/** Names no process: for a tree of which only the mark is known. */
const NOBODY: StartedProcess = { keeperPid: 0, keeperStart: 0, pid: 0, pidStart: 0, isSubreaper: false };

/**
 * Ends every process that carries a mark, where the files that would name the processes are damaged.
 *
 * @throws {SweepError} if a process does not end
 */
export function sweepMarked(mark: Omit<ProcessTree, "started">): Promise<EndedProcess[]> {
  return sweepTree({ ...mark, started: NOBODY });
}
