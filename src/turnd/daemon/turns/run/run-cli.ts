import type { Logger } from "pino";
import { defined } from "../../../../kit/defined.ts";
import type { RequestedTransport } from "../../../protocol/index.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import type { GroupsState } from "../../process/cgroup/cgroup.ts";
import type { RunAs } from "../../process/run-as.ts";
import type { Starter } from "../../process/starter/starter.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { SessionSecrets } from "../admission/session-servers.ts";
import { executorOf, type Executors } from "../executors/executors.ts";
import type { Turn } from "../lifecycle/turn.ts";
import type { StartedProcess } from "../../process/keeper/keeper.ts";
import { findFullDisk } from "../executors/state-disk.ts";
import type { TurnLimits } from "../lifecycle/limits.ts";
import type { TurnObserver } from "../lifecycle/observer.ts";
import type { TurnFacts } from "../outcome/conclude.ts";
import { neverRan, storageFault, type RunOutcome } from "../outcome/run-outcome.ts";
import type { ChangeRecorder } from "../store/record-changes.ts";
import { followAttempt, type AttemptResult } from "./attempt.ts";
import { createBackfill } from "./backfill-output.ts";
import type { EnvironmentOf } from "./cli-environment.ts";
import { createStartLog } from "./daemon-events.ts";
import { followProcess } from "./follow-process.ts";
import { lostResume } from "./lost-session.ts";
import { createDescriber } from "./describe-process.ts";
import { prepareTurn, type PrepareOptions } from "./prepare.ts";
import type { OpenTurn } from "./run.ts";
import { startProcess, type StartingTurn } from "./start-process.ts";
import { findTaken } from "./taken-input.ts";
import type { Servers } from "./servers.ts";
import { createServerTurns } from "./start-on-server.ts";
import { createKeptBody } from "./turn-body.ts";
import { findMemoryKill } from "./turn-group.ts";

/** What turns of CLIs are run with; made once. */
export interface CliRunnerParts {
  readonly environmentOf: EnvironmentOf;
  readonly executors: Executors;
  readonly sessions: Pick<SessionStore, "get" | "paths" | "hasHome" | "ensureHome" | "update">;
  readonly sessionSecrets: SessionSecrets;
  readonly recorder: Pick<ChangeRecorder, "before">;
  readonly groups: GroupsState;
  readonly runAs: RunAs;
  readonly starter?: Pick<Starter, "startHelper">;
  /** `sandbox/keeper`. */
  readonly keeperPath: string;
  /** HOME of the CLIs. */
  readonly homeDirectory: string;
  readonly stateDirectory: string;
  readonly limits: TurnLimits;
  readonly servers: Servers;
  /** How turns are driven that do not say. */
  readonly defaultTransport: RequestedTransport;
  /** How many of the last characters of a session's text may be the beginning of a secret. */
  readonly holdBackOf: (sessionId: string) => (text: string) => number;
  readonly observer: Pick<TurnObserver, "processesSwept" | "firstEvent">;
  /** Aborts when turnd stops and its time for that is half over. */
  readonly graceOver: AbortSignal;
  readonly now: () => Date;
}

/** What the run of a turn needs to know of the other turns of its session. */
export type Siblings = Pick<StartingTurn, "earlierTurns" | "whenTidy">;

/**
 * Runs a turn of a CLI, or resumes one that an earlier daemon had started, until nothing of it runs any more.
 *
 * @returns undefined when the turn is postponed
 */
export type RunCli = (open: OpenTurn, siblings: Siblings, logger: Logger) => Promise<RunOutcome | undefined>;

/** Makes what runs turns of CLIs. */
export function createCliRunner(parts: CliRunnerParts): RunCli {
  const { executors, groups, stateDirectory } = parts;
  const backfill = createBackfill(parts);
  const describe = createDescriber(parts);
  return async (open, siblings, logger) => {
    const { turn, emitter } = open;
    const startLog = createStartLog(emitter, open.progress);
    const named = { ...parts, describe, backfill, logger };
    const prepare = (starting: Turn, options: PrepareOptions) => prepareTurn(named, starting, options);
    const serverTurns = createServerTurns({ ...named, prepare });
    const keep = (kept: Turn, started: StartedProcess) => {
      const { stopSignals } = executorOf(executors, kept.file.executor).executor;
      return createKeptBody(named, kept, { started, stopSignals });
    };
    const taken = await findTaken(turn);
    if (taken !== undefined) {
      await turn.send({ type: "start_refused" });
      return taken;
    }
    let attempt: AttemptResult | undefined;
    let refusal: FailureDraft | undefined;
    while (turn.life.phase === "starting") {
      const { process, failure } = await startProcess(
        { ...named, prepare, serverTurns, keep },
        { turn, emitter, startLog, hasRoom: open.hasRoom, ...siblings },
        attempt,
      );
      refusal = failure;
      attempt =
        process &&
        (await followProcess(
          { ...named, follow: (followed, options) => followAttempt(named, followed, options) },
          open,
          process,
        ));
    }
    if (turn.life.phase === "postponed") return undefined;
    if (attempt === undefined) return neverRan(turn, refusal);
    if (!attempt.hasEmitted) {
      await turn.send({ type: "resume_lost", degraded: lostResume(executors, turn, attempt) });
      await startLog.degraded(turn.file.degraded);
    }
    await emitter.finish();
    return conclude({ groups, stateDirectory, logger }, open, attempt);
  };
}

interface ConcludeParts {
  readonly groups: GroupsState;
  readonly stateDirectory: string;
  readonly logger: Logger;
}

/** Collects what decides how a turn ended of which a process ran. */
async function conclude(
  { groups, stateDirectory, logger }: ConcludeParts,
  { turn, emitter }: OpenTurn,
  attempt: AttemptResult,
): Promise<RunOutcome> {
  const halt =
    storageFault(emitter.fault()) ??
    attempt.halt ??
    attempt.fault ??
    findMemoryKill({ groups, logger }, turn, attempt.exit);
  const facts: TurnFacts = {
    endedBy: turn.life.stopReason ?? null,
    ending: attempt.ending,
    exit: attempt.exit,
    // A server goes on after its turn: what it has printed alone shows how that ended.
    ...(turn.file.transport === "interactive" && attempt.exit === null && attempt.isComplete
      ? { isExitUnrecorded: true }
      : {}),
    isDegraded: turn.file.degraded !== undefined,
    ...defined({ halt, lastSeen: attempt.lastSeen, providerFault: turn.file.provider_fault }),
  };
  // Asked while the room for the last event is still taken.
  const full = await findFullDisk(stateDirectory, facts);
  const ran = { ending: attempt.ending, counts: { ...attempt.counts, ...emitter.counts() } };
  return { facts: full === undefined ? facts : { ...facts, halt: full }, ran };
}
