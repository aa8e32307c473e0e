import type { TurnFacts } from "../outcome/classify.ts";
import { storageFault, type RunOutcome } from "../outcome/run-outcome.ts";
import { findFullDisk } from "../readiness/state-disk.ts";
import type { AttemptResult } from "./attempt.ts";
import { lostResume } from "./lost-session.ts";
import { logDegraded, type Run } from "./run-state.ts";
import { findMemoryKill } from "./turn-group.ts";

/** What a turn does first while it is `ending`: collects what decides how it ended. */
export async function conclude(run: Run): Promise<RunOutcome> {
  return run.attempt === undefined || run.refusal !== undefined ? refused(run) : concludeAttempt(run, run.attempt);
}

async function concludeAttempt(run: Run, attempt: AttemptResult): Promise<RunOutcome> {
  const { context, turn, emitter } = run;
  if (!attempt.hasEmitted) {
    await turn.send({ type: "resume_lost", degraded: lostResume(context, turn, attempt) });
    await logDegraded(run);
  }
  await emitter.finish();
  const halt = storageFault(emitter) ?? attempt.halt ?? findMemoryKill(context, turn, attempt.exit);
  const facts: TurnFacts = {
    endedBy: turn.life.stopReason ?? null,
    ending: attempt.ending,
    ...(halt === undefined ? {} : { halt }),
    exit: attempt.exit,
    isDegraded: turn.file.degraded !== undefined,
  };
  // Asked while the room for the last event is still taken.
  const full = await findFullDisk(context, facts);
  const counted = { ...attempt, counts: { ...attempt.counts, ...emitter.counts() } };
  return { facts: full === undefined ? facts : { ...facts, halt: full }, attempt: counted };
}

/** The end of a turn whose process never ran. */
export function refused({ turn, refusal }: Pick<Run, "turn" | "refusal">): RunOutcome {
  return {
    facts: {
      endedBy: turn.life.stopReason ?? null,
      ...(refusal === undefined ? {} : { halt: refusal }),
      exit: null,
      isDegraded: turn.file.degraded !== undefined,
    },
  };
}
