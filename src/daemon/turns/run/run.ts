import { join } from "node:path";
import { openEventLog } from "../../event-log/event-log.ts";
import type { TurnContext } from "../context.ts";
import { readProgress, type Progress } from "../crash-recovery/progress.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { endTurn } from "../outcome/end.ts";
import { saveOwnPart, toFailureOfOurs, type RunOutcome } from "../outcome/run-outcome.ts";
import { playTurn } from "../replay/play.ts";
import { releaseReserve, takeReserve } from "../store/reserve.ts";
import { conclude, refused } from "./conclude.ts";
import { createEmitter } from "./emitter.ts";
import { followProcess } from "./follow-process.ts";
import type { Run, RunOptions } from "./run-state.ts";
import { startProcess } from "./start-process.ts";
import { removeGroup } from "./turn-group.ts";

/**
 * Runs a turn, or resumes one that an earlier daemon had started, until its `turn.ended` is logged (law 3).
 *
 * Never throws for what the CLI, the provider or the disk does.
 */
export async function runTurn(context: TurnContext, turn: Turn, options: RunOptions): Promise<void> {
  const logPath = join(turn.directory, "events.jsonl");
  const log = await openEventLog({
    path: logPath,
    turnId: turn.file.turn_id,
    sessionId: turn.file.session_id,
    executor: turn.file.executor,
    now: () => context.now().toISOString(),
    redact: context.redact,
    tail: turn.tail,
  });
  try {
    const progress = await readProgress(logPath, context.redact);
    if (progress.ended !== undefined) {
      const { data, at } = progress.ended;
      await turn.send({ type: "end_found", end: { status: data.status, at } });
      return;
    }
    const hasRoom = await takeReserve(turn.directory);
    const emitter = createEmitter({
      log,
      logPath,
      progress,
      redact: context.redact,
      onWritten: (count) => context.observer.eventsWritten(turn.file.executor, count),
      onPassedOver: (count) => context.observer.eventsPassedOver(count),
      onDifference: (message) => context.logger.warn({ turnId: turn.file.turn_id }, message),
      onFault: () => void turn.send({ type: "log_failed" }),
    });
    const run: Run = {
      context,
      turn,
      options,
      emitter,
      logPath,
      hasRoom,
      hasLoggedStarted: progress.hasStarted,
      hasLoggedDegraded: progress.isDegraded,
      found: undefined,
      attempt: undefined,
      refusal: undefined,
    };
    const outcome = turn.file.replay === undefined ? await runToOutcome(run) : await playToOutcome(run, progress);
    await releaseReserve(turn.directory);
    await removeGroup(context, turn.file);
    if (outcome === undefined) return;
    await saveOwnPart(turn, outcome.facts);
    await endTurn(context, turn, log, outcome.facts, outcome.attempt);
  } finally {
    await log.close();
  }
}

/** @returns undefined when the turn is postponed */
async function runToOutcome(run: Run): Promise<RunOutcome | undefined> {
  const { turn } = run;
  try {
    while (turn.life.phase === "starting") {
      await startProcess(run);
      if (run.found !== undefined) await followProcess(run, run.found);
    }
    return turn.life.phase === "postponed" ? undefined : await conclude(run);
  } catch (error) {
    return failed(run, error, "turn could not be run");
  }
}

async function playToOutcome(run: Run, progress: Progress): Promise<RunOutcome | undefined> {
  try {
    return await playTurn({ ...run, progress });
  } catch (error) {
    return failed(run, error, "recording could not be played");
  }
}

async function failed({ context, turn }: Run, error: unknown, message: string): Promise<RunOutcome> {
  context.logger.error({ turnId: turn.file.turn_id, err: error }, message);
  await turn.send({ type: "failed" });
  return refused({ turn, refusal: toFailureOfOurs(error) });
}
