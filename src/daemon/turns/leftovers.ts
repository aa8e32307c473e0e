import { basename } from "node:path";
import { readStarted } from "../process/keeper.ts";
import { sweepTree, type EndedProcess } from "../process/tree.ts";

/**
 * Ends what still runs of a turn that cannot be read (law 6): nobody takes it up, so nobody else would.
 *
 * @param directory - the turn's
 * @throws {SweepError} if something of it would not die
 */
export async function endLeftovers(directory: string): Promise<readonly EndedProcess[]> {
  const started = await readStarted(directory);
  return started === undefined ? [] : sweepTree({ started, marker: basename(directory) });
}
