import type { RunOutcome } from "../outcome/run-outcome.ts";
import { conclude } from "./conclude.ts";
import { followProcess } from "./follow-process.ts";
import type { CliParts, CliRun, CliRunOptions } from "./cli-run.ts";
import type { OpenTurn } from "./run.ts";
import { startProcess } from "./start-process.ts";

/**
 * Runs a turn of a CLI, or resumes one that an earlier daemon had started, until nothing of it runs any more.
 *
 * @returns undefined when the turn is postponed
 */
export async function runCliTurn(
  parts: CliParts,
  open: OpenTurn,
  options: CliRunOptions,
): Promise<RunOutcome | undefined> {
  const { turn, progress } = open;
  const run: CliRun = {
    ...open,
    parts,
    options,
    hasLoggedStarted: progress.hasStarted,
    hasLoggedDegraded: progress.isDegraded,
    found: undefined,
    attempt: undefined,
    refusal: undefined,
  };
  while (turn.life.phase === "starting") {
    await startProcess(run);
    if (run.found !== undefined) await followProcess(run, run.found);
  }
  return turn.life.phase === "postponed" ? undefined : conclude(run);
}
