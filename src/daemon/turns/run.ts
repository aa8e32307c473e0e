import { join } from "node:path";
import { openEventLog } from "../event-log/event-log.ts";
import type { FailureDraft, TranslatedEvent } from "../executors/executor.ts";
import { adoptStarted, KeeperError, type Started } from "../process/keeper.ts";
import { followAttempt, type AttemptResult } from "./attempt.ts";
import { ownFailure, type TurnFacts } from "./classify.ts";
import { executorOf, type TurnContext } from "./context.ts";
import { createEmitter, isStorageError, type Emitter } from "./emitter.ts";
import { endTurn, markEnded, releaseReserve, takeReserve } from "./end.ts";
import { readInput, withHistory } from "./history.ts";
import { HomeError } from "./home.ts";
import { degradedEvent, startedEvent } from "./own-events.ts";
import { prepareTurn, replaceFile, tidyHome } from "./prepare.ts";
import { readProgress, takenLines, type Progress } from "./progress.ts";
import { finishSetAside, hasSetAside, setAsideResume, wasStarted } from "./set-aside.ts";
import type { Turn } from "./turn.ts";
import { writeTurnFile } from "./turn-file.ts";

/** What a run needs to know of the turn's surroundings. */
export interface RunOptions {
  /** Directories of the session's earlier turns, oldest first. */
  readonly earlierTurns: () => readonly string[];
  readonly onStepBoundary: () => void;
}

/**
 * Runs a turn, or takes up one that an earlier daemon had started, until its `turn.ended` is logged (law 3).
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
  turn.log = log;
  try {
    const progress = await readProgress(logPath);
    if (progress.ended !== undefined) {
      markEnded(turn, progress.ended.data, progress.ended.at);
      return;
    }
    await takeReserve(turn.directory);
    const emitter = createEmitter(log, progress, () => turn.stop?.("storage"));
    const run: Run = { context, turn, options, progress, emitter, logPath };
    const { facts, attempt } = await runToFacts(run);
    await releaseReserve(turn.directory);
    await endTurn(context, turn, log, facts, attempt);
  } finally {
    turn.log = undefined;
    turn.stop = undefined;
    await log.close();
  }
  await tidyHome(context, turn).catch((error: unknown) => {
    context.logger.warn({ turnId: turn.file.turn_id, err: error }, "home could not be tidied");
  });
}

interface Run {
  readonly context: TurnContext;
  readonly turn: Turn;
  readonly options: RunOptions;
  readonly progress: Progress;
  readonly emitter: Emitter;
  readonly logPath: string;
}

/** What is known when nothing runs any more. */
interface RunOutcome {
  readonly facts: TurnFacts;
  readonly attempt?: AttemptResult;
}

async function runToFacts(run: Run): Promise<RunOutcome> {
  const { turn, context } = run;
  try {
    await finishSetAside(turn.directory);
    if (turn.file.degraded !== undefined && turn.file.resume_policy === "continue") {
      // An earlier daemon had given the resume up and got no further.
      await logDegraded(run);
      if (!(await hasSetAside(turn.directory))) await setAsideResume(turn.directory);
    }
    let attempt: AttemptResult;
    if (await wasStarted(turn.directory)) {
      const started = await adoptStarted(turn.directory);
      if (started === undefined) return refuse(run, undefined);
      attempt = await follow(run, started);
    } else {
      const obstacle = await findObstacle(run);
      if (obstacle !== undefined || turn.stopRequested !== undefined) return refuse(run, obstacle);
      attempt = await start(run, turn.file.degraded === undefined ? requestedSession(run) : null);
    }
    if (isLostResume(attempt)) {
      await tellDegraded(run, attempt);
      if (turn.file.resume_policy === "continue" && (turn.file.ended_by ?? null) === null) {
        await setAsideResume(turn.directory);
        attempt = await start(run, null);
      }
    }
    return conclude(run, attempt);
  } catch (error) {
    const failure = toStartFailure(error);
    if (failure === undefined) throw error;
    context.logger.error({ turnId: turn.file.turn_id, err: error }, "turn could not be run");
    return refuse(run, failure);
  }
}

async function findObstacle({ context, turn }: Run): Promise<FailureDraft | undefined> {
  const permissions = context.sessions.get(turn.file.session_id)?.permissions ?? {};
  return executorOf(context, turn.file.executor).findObstacle(turn.file.mode, permissions);
}

function requestedSession({ context, turn }: Run): string | null {
  const nativeId = context.sessions.get(turn.file.session_id)?.native_session_id;
  return nativeId ?? null;
}

async function start(run: Run, requested: string | null): Promise<AttemptResult> {
  const { context, turn, options, emitter, progress } = run;
  const runtime = executorOf(context, turn.file.executor);
  const located = await runtime.locate();
  if (!located.ok) throw new KeeperError(`${runtime.cliName} cannot be run: ${located.reason}`);
  const input = await readInput(turn.directory);
  const prompt =
    turn.file.degraded !== undefined ? await prependHistory(turn.directory, input, options.earlierTurns()) : input;
  const prepared = await prepareTurn(context, turn, {
    binary: located.path,
    version: located.version,
    requestedSession: requested,
    prompt,
  });
  if (!progress.hasStarted && turn.file.degraded === undefined) {
    const { mode, model, trace_id: traceId } = turn.file;
    await emitter.own([
      startedEvent({ cliName: runtime.cliName, cliVersion: located.version, mode, model, requested, traceId }),
    ]);
  }
  await emitter.own(prepared.warnings);
  return follow(run, await prepared.start());
}

async function follow(run: Run, started: Started): Promise<AttemptResult> {
  const { context, turn, emitter, options } = run;
  const attempt = await followAttempt(context, turn, {
    started,
    taken: takenLines(run.logPath),
    requestedSession: turn.file.requested_session ?? null,
    emit: async (events) => {
      await bindSession(run, events);
      await emitter.translated(events);
    },
    onStop: (stop) => {
      turn.stop = stop;
      // A stop that was asked for before there was anything to stop, by this daemon or an earlier one.
      const asked = turn.stopRequested ?? turn.file.ended_by ?? undefined;
      if (asked !== undefined) stop(asked);
      if (emitter.fault() !== undefined) stop("storage");
    },
    onStepBoundary: options.onStepBoundary,
  });
  turn.stop = undefined;
  if (attempt.sweepError !== undefined) {
    const { message } = attempt.sweepError;
    context.logger.error({ turnId: turn.file.turn_id, err: attempt.sweepError }, "processes left behind");
    await emitter.own([{ type: "warning", data: { code: "processes_left", message } }]);
  }
  return attempt;
}

/** Before its event is logged: a turn that is stopped before the first output stays resumable. */
async function bindSession({ context, turn }: Run, events: readonly TranslatedEvent[]): Promise<void> {
  for (const event of events) {
    if (event.type !== "session.bound") continue;
    const { native_session_id } = event.data;
    if (context.sessions.get(turn.file.session_id)?.native_session_id === native_session_id) continue;
    await context.sessions.update(turn.file.session_id, { native_session_id });
  }
}

/** The native session did not come back, and nobody has seen anything of the process that tried. */
function isLostResume(attempt: AttemptResult): boolean {
  return !attempt.hasEmitted;
}

/** First on the disk, then in the log: a daemon that is killed in between tells it at its next start. */
async function tellDegraded(run: Run, attempt: AttemptResult): Promise<void> {
  const { turn } = run;
  if (turn.file.degraded === undefined) {
    turn.file = {
      ...turn.file,
      degraded: { requested: turn.file.requested_session ?? "", reason: attempt.degradedReason },
    };
    await writeTurnFile(turn.directory, turn.file);
  }
  await logDegraded(run);
}

async function logDegraded({ turn, progress, emitter }: Run): Promise<void> {
  const { degraded } = turn.file;
  if (degraded !== undefined && !progress.isDegraded) {
    await emitter.own([degradedEvent(degraded.requested, degraded.reason)]);
  }
}

async function prependHistory(directory: string, input: string, earlier: readonly string[]): Promise<string> {
  await replaceFile(join(directory, "input.txt"), input);
  return withHistory(input, earlier);
}

function conclude({ turn, emitter }: Run, attempt: AttemptResult): RunOutcome {
  const fault = emitter.fault();
  const halt =
    fault === undefined
      ? attempt.halt
      : ownFailure("storage_error", `The turn's events could not be written: ${fault.message}`);
  return {
    facts: {
      endedBy: turn.file.ended_by ?? null,
      ending: attempt.ending,
      ...(halt === undefined ? {} : { halt }),
      exit: attempt.exit,
      isDegraded: turn.file.degraded !== undefined,
    },
    attempt,
  };
}

/** A turn whose process never ran. */
function refuse({ turn }: Run, halt: FailureDraft | undefined): RunOutcome {
  const endedBy = turn.stopRequested ?? turn.file.ended_by ?? null;
  return {
    facts: {
      endedBy,
      ...(halt === undefined ? {} : { halt }),
      exit: null,
      isDegraded: turn.file.degraded !== undefined,
    },
  };
}

function toStartFailure(error: unknown): FailureDraft | undefined {
  if (error instanceof KeeperError) return ownFailure("executor_unavailable", error.message);
  if (error instanceof HomeError || isStorageError(error)) return ownFailure("storage_error", error.message);
  return undefined;
}
