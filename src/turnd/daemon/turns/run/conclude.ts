import type { TurnFacts } from "../outcome/classify.ts";
import { neverRan, storageFault, type RunOutcome } from "../outcome/run-outcome.ts";
import { findFullDisk } from "../executors/state-disk.ts";
import type { AttemptResult } from "./attempt.ts";
import { lostResume } from "./lost-session.ts";
import { logDegraded, type CliRun } from "./cli-run.ts";
import { findMemoryKill } from "./turn-group.ts";

/** What a turn does first while it is `ending`: collects what decides how it ended. */
export async function conclude(run: CliRun): Promise<RunOutcome> {
  return run.attempt === undefined ? neverRan(run.turn, run.refusal) : concludeAttempt(run, run.attempt);
}

async function concludeAttempt(run: CliRun, attempt: AttemptResult): Promise<RunOutcome> {
  const { parts, turn, emitter } = run;
  if (!attempt.hasEmitted) {
    await turn.send({ type: "resume_lost", degraded: lostResume(parts, turn, attempt) });
    await logDegraded(run);
  }
  await emitter.finish();
  const halt = storageFault(emitter.fault()) ?? attempt.halt ?? findMemoryKill(parts, turn, attempt.exit);
  const facts: TurnFacts = {
    endedBy: turn.life.stopReason ?? null,
    ending: attempt.ending,
    ...(halt === undefined ? {} : { halt }),
    exit: attempt.exit,
    isDegraded: turn.file.degraded !== undefined,
    ...(attempt.lastSeen === undefined ? {} : { lastSeen: attempt.lastSeen }),
    ...(turn.file.provider_fault === undefined ? {} : { providerFault: turn.file.provider_fault }),
  };
  // Asked while the room for the last event is still taken.
  const full = await findFullDisk(parts, facts);
  const ran = { ending: attempt.ending, counts: { ...attempt.counts, ...emitter.counts() } };
  return { facts: full === undefined ? facts : { ...facts, halt: full }, ran };
}
