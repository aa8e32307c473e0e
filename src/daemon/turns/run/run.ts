import { join } from "node:path";
import { warningEvent } from "../../../protocol/index.ts";
import { openEventLog } from "../../event-log/event-log.ts";
import type { FailureDraft, TranslatedEvent } from "../../executors/contract/executor.ts";
import { adoptStarted, KeeperError, type Started } from "../../process/keeper/keeper.ts";
import { sweepMarked } from "../../process/keeper/leftovers.ts";
import { followAttempt, type AttemptResult } from "./attempt.ts";
import { ownFailure } from "../outcome/acts.ts";
import type { TurnFacts } from "../outcome/classify.ts";
import { executorOf, type TurnContext } from "../context.ts";
import { createEmitter, type Emitter } from "./emitter.ts";
import { endTurn, markEnded } from "../outcome/end.ts";
import { readInput, withHistory } from "./history.ts";
import { degradedEvent, startedEvent } from "./own-events.ts";
import { playTurn } from "../replay/play.ts";
import { findLost, lostResume, requestedSession, saveDegraded } from "./lost-session.ts";
import { prepareTurn, replaceFile } from "./prepare.ts";
import { readProgress, takenLines, type Progress } from "../crash-recovery/progress.ts";
import { finishRecovery } from "../output-backfill/backfill-output.ts";
import { releaseReserve, takeReserve } from "../store/reserve.ts";
import { saveOwnPart, storageFault, toFailureOfOurs, type RunOutcome } from "../outcome/run-outcome.ts";
import { findFullDisk } from "../readiness/state-disk.ts";
import { waitUnlessAborted } from "../readiness/wait-unless-aborted.ts";
import { finishSetAside, setAsideResume, wasStarted } from "./set-aside.ts";
import type { Turn } from "../store/turn.ts";
import { describeHits, findMemoryKill, markOf, removeGroup } from "./turn-group.ts";
import { permissionsOf } from "../admission/turn-permissions.ts";

/** What a run needs to know of the turn's surroundings. */
export interface RunOptions {
  /** Directories of the session's earlier turns, oldest first. */
  readonly earlierTurns: () => readonly string[];
  readonly onStepBoundary: () => void;
  /** Resolves when nothing of an earlier turn is being removed from the session's home any more. */
  readonly whenTidy: () => Promise<void>;
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
    const progress = await readProgress(logPath, context.redact);
    if (progress.ended !== undefined) {
      markEnded(turn, progress.ended.data, progress.ended.at);
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
      onFault: () => turn.stop?.("storage"),
    });
    const run: Run = {
      context,
      turn,
      options,
      emitter,
      logPath,
      hasRoom,
      hasToldStarted: progress.hasStarted,
      hasToldDegraded: progress.isDegraded,
    };
    const outcome = turn.file.replay === undefined ? await runToFacts(run) : await playToFacts(run, progress);
    await releaseReserve(turn.directory);
    await removeGroup(context, turn.file);
    if (outcome === undefined) return;
    await saveOwnPart(context, turn, outcome.facts);
    await endTurn(context, turn, log, outcome.facts, outcome.attempt);
  } finally {
    turn.log = undefined;
    turn.stop = undefined;
    await log.close();
  }
}

interface Run {
  readonly context: TurnContext;
  readonly turn: Turn;
  readonly options: RunOptions;
  readonly emitter: Emitter;
  readonly logPath: string;
  /** Whether there was room for the turn's last event. */
  readonly hasRoom: boolean;
  hasToldStarted: boolean;
  hasToldDegraded: boolean;
}

async function playToFacts(run: Run, progress: Progress): Promise<RunOutcome | undefined> {
  const { context, turn } = run;
  try {
    return await playTurn({ ...run, progress });
  } catch (error) {
    context.logger.error({ turnId: turn.file.turn_id, err: error }, "recording could not be played");
    return refuse(run, toFailureOfOurs(error));
  }
}

/** @returns undefined when the daemon stops before anything was started: the turn waits for the next start */
async function runToFacts(run: Run): Promise<RunOutcome | undefined> {
  const { turn, context, options } = run;
  try {
    await finishSetAside(turn.directory);
    await finishRecovery(context, turn);
    // An earlier daemon had given the resume up and got no further: the plain files are still that resume's.
    const isResumes = (turn.file.requested_session ?? null) !== null;
    if (turn.file.degraded !== undefined && isResumes && turn.file.resume_policy === "continue") {
      await setAsideResume(turn.directory);
    }
    let attempt: AttemptResult;
    if (await wasStarted(turn.directory)) {
      const started = await adoptStarted(turn.directory);
      if (started === undefined) {
        // Its keeper died before it let the command go, or nobody can read whom it named.
        turn.ended.push(...(await sweepMarked(markOf(turn.file.turn_id, context.groups.groups))));
        return refuse(run, undefined);
      }
      attempt = await follow(run, started);
    } else {
      await waitUnlessAborted(options.whenTidy(), turn.stopping.signal);
      const obstacle = await findObstacle(run);
      turn.stopping.signal.throwIfAborted();
      if (obstacle !== undefined) return refuse(run, obstacle);
      if (!run.hasRoom) return refuse(run, NO_ROOM);
      const requested = requestedSession(context, turn);
      const lost = await findLost(context, turn, requested);
      if (lost !== undefined) {
        if (turn.file.resume_policy === "fail") return refuse(run, ownFailure("resume_degraded", lost.reason));
        await saveDegraded(turn, lost);
      }
      attempt = await start(run, lost === undefined ? requested : null);
    }
    if (isLostResume(attempt)) {
      await saveDegraded(turn, lostResume(context, turn, attempt));
      await tellDegraded(run);
      if (turn.file.resume_policy === "continue" && (turn.file.ended_by ?? null) === null) {
        await setAsideResume(turn.directory);
        attempt = await start(run, null);
      }
    }
    return await conclude(run, attempt);
  } catch (error) {
    const { signal } = turn.stopping;
    // Asked to end while it waited for something before a process existed.
    if (signal.aborted && error === signal.reason) {
      return turn.stopRequested === "shutdown" ? undefined : refuse(run, undefined);
    }
    context.logger.error({ turnId: turn.file.turn_id, err: error }, "turn could not be run");
    return refuse(run, toFailureOfOurs(error));
  }
}

async function findObstacle({ context, turn }: Run): Promise<FailureDraft | undefined> {
  const permissions = permissionsOf(context.sessions.get(turn.file.session_id), turn.file);
  const { executor, mode, model } = turn.file;
  const wanted = { mode, permissions, ...(model === undefined ? {} : { model }) };
  return executorOf(context, executor).findObstacle(wanted, turn.stopping.signal);
}

async function start(run: Run, requested: string | null): Promise<AttemptResult> {
  const { context, turn, emitter } = run;
  const runtime = executorOf(context, turn.file.executor);
  const { signal } = turn.stopping;
  const located = await runtime.locate(signal);
  if (!located.ok) throw new KeeperError(`${runtime.cliName} cannot be run: ${located.reason}`);
  const input = await readInput(turn.directory);
  const prompt = turn.file.degraded !== undefined ? await prependHistory(run, input) : input;
  await context.sessions.ensureHome(turn.file.session_id);
  const prepared = await prepareTurn(context, turn, {
    binary: located.path,
    version: located.version,
    requestedSession: requested,
    prompt,
    signal,
  });
  if (!run.hasToldStarted) {
    run.hasToldStarted = true;
    const { mode, model, trace_id: traceId, degraded } = turn.file;
    const asked = degraded?.requested ?? requested;
    await emitter.own([
      startedEvent({ cliName: runtime.cliName, cliVersion: located.version, mode, model, requested: asked, traceId }),
    ]);
  }
  await tellDegraded(run);
  await emitter.own(prepared.warnings);
  signal.throwIfAborted();
  const spawnedAt = performance.now();
  return follow(run, await prepared.start(), spawnedAt);
}

/** @param spawnedAt - absent for a process that an earlier daemon had started */
async function follow(run: Run, started: Started, spawnedAt?: number): Promise<AttemptResult> {
  const { context, turn, emitter, options } = run;
  const attempt = await followAttempt(context, turn, {
    started,
    taken: takenLines(run.logPath),
    requestedSession: turn.file.requested_session ?? null,
    emit: async (events, lines) => {
      if (spawnedAt !== undefined && events.length > 0) {
        context.observer.firstEvent(turn.file.executor, performance.now() - spawnedAt);
        spawnedAt = undefined;
      }
      await bindSession(run, events);
      await emitter.translated(events, lines);
    },
    isCaughtUp: emitter.isCaughtUp,
    onOutputCut: () => emitter.warnOnce("output_cut", OUTPUT_CUT),
    onStop: (stop) => {
      turn.stop = stop;
      // A stop that was asked for before there was anything to stop, by this daemon or an earlier one.
      const asked = turn.stopRequested ?? turn.file.ended_by ?? undefined;
      if (asked !== undefined) stop(asked);
      if (emitter.fault() !== undefined) stop("storage");
    },
    // A boundary that an earlier daemon has passed is none any more: a tool may be at work since.
    onStepBoundary() {
      if (emitter.isCaughtUp()) options.onStepBoundary();
    },
  });
  turn.stop = undefined;
  if (attempt.sweepError !== undefined) {
    context.logger.error({ turnId: turn.file.turn_id, err: attempt.sweepError }, "processes left behind");
    await emitter.own([warningEvent("processes_left", attempt.sweepError.message)]);
  }
  const hits = describeHits(context, turn.file);
  if (hits !== undefined) await emitter.own([warningEvent("limit_reached", hits)]);
  return attempt;
}

const OUTPUT_CUT = "The turn's events have become too many: the rest of what was printed is neither logged nor kept.";

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

async function tellDegraded(run: Run): Promise<void> {
  const { degraded } = run.turn.file;
  if (degraded === undefined || run.hasToldDegraded) return;
  run.hasToldDegraded = true;
  await run.emitter.own([degradedEvent(degraded.requested, degraded.reason)]);
}

async function prependHistory({ context, turn, options }: Run, input: string): Promise<string> {
  await replaceFile(join(turn.directory, "input.txt"), input);
  return withHistory(input, options.earlierTurns(), {
    signal: turn.stopping.signal,
    onUnreadable(path, error) {
      context.logger.warn({ turnId: turn.file.turn_id, path, err: error }, "damaged turn is left out of the history");
    },
  });
}

async function conclude({ context, turn, emitter }: Run, attempt: AttemptResult): Promise<RunOutcome> {
  await emitter.finish();
  const halt = storageFault(emitter) ?? attempt.halt ?? findMemoryKill(context, turn.file, attempt.exit);
  const facts: TurnFacts = {
    endedBy: turn.file.ended_by ?? null,
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

const NO_ROOM = ownFailure("storage_error", "The disk of the state directory is full: there is no room for the turn.");

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
