import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import { adoptStarted, KeeperError, StartHangsError, type Started } from "../../process/keeper/keeper.ts";
import { sweepMarked } from "../../process/keeper/leftovers.ts";
import { takeStart } from "../../process/keeper/take-start.ts";
import type { Helper } from "../../process/starter/starter.ts";
import { missingSecrets } from "../admission/session-servers.ts";
import { permissionsOf } from "../admission/turn-permissions.ts";
import { executorOf } from "../executors/executors.ts";
import { FRESH } from "../../storage/atomic-file.ts";
import { isStorageError } from "../../storage/storage-error.ts";
import { ownFailure } from "../outcome/own-failure.ts";
import { finishRecovery } from "./backfill-output.ts";
import { waitUnlessAborted } from "../executors/wait-unless-aborted.ts";
import { readInput, withHistory } from "./history.ts";
import { hasTracesOfStart } from "../store/turn-directory.ts";
import { findLost, lostResume, requestedSession } from "./lost-session.ts";
import { startedEvent } from "./daemon-events.ts";
import { prepareTurn, type PrepareOptions } from "./prepare.ts";
import { logDegraded, type CliRun } from "./cli-run.ts";
import { finishSetAside, setAsideResume, wasStarted } from "./set-aside.ts";
import { markOf } from "./turn-group.ts";

/**
 * What a turn does while it is `starting`: finds the process that an earlier daemon started, or starts one.
 *
 * Afterwards the run has a process to follow, or the turn has left that phase.
 */
export async function startProcess(run: CliRun): Promise<void> {
  try {
    if (run.attempt === undefined) await findOrStart(run);
    else await startAfresh(run, run.attempt);
  } catch (error) {
    const { startSignal } = run.turn;
    // Asked to end while it waited for something before a process existed.
    const isAsked = startSignal.aborted && error === startSignal.reason;
    if (!isAsked && !(error instanceof StartHangsError)) throw error;
    if (await isStartedYet(run)) return adopt(run);
    if (!isAsked) throw error;
    await run.turn.send({ type: "start_given_up" });
  }
}

/**
 * A keeper that was asked for, also by an earlier turnd, may come to its start after the turn's end. It is taken from
 * it. Law: nothing outlives its turn.
 */
async function isStartedYet({ turn }: CliRun): Promise<boolean> {
  const isLeftToNext = turn.life.stopReason === "shutdown" && !turn.life.isReasonInherited;
  if (turn.file.started_at === undefined || isLeftToNext) return false;
  try {
    return !(await takeStart(turn.directory));
  } catch (error) {
    // A disk on which turnd cannot make it has no room for the keeper's either.
    if (!isStorageError(error)) throw error;
    return false;
  }
}

async function findOrStart(run: CliRun): Promise<void> {
  const { turn, parts, options } = run;
  if (await hasTracesOfStart(turn.directory)) {
    await finishHalfDone(run);
    if (await wasStarted(turn.directory)) return adopt(run);
  }
  await waitUnlessAborted(options.whenTidy(), turn.startSignal);
  const obstacle = await findObstacle(run);
  turn.startSignal.throwIfAborted();
  if (obstacle !== undefined) return refuse(run, obstacle);
  if (!(await run.hasRoom)) return refuse(run, NO_ROOM);
  const requested = requestedSession(parts, turn);
  const lost = await findLost(parts, turn, requested);
  if (lost !== undefined) {
    if (turn.file.resume_policy === "fail") return refuse(run, ownFailure("resume_degraded", lost.reason));
    await turn.send({ type: "resume_lost", degraded: lost });
  }
  await start(run, { requested: lost === undefined ? requested : null, startedAt: undefined });
}

/** What a daemon that was killed had begun with a turn's files. */
async function finishHalfDone({ parts, turn }: CliRun): Promise<void> {
  await finishSetAside(turn.directory);
  await finishRecovery(parts, turn);
  // An earlier daemon had given the resume up and got no further: the plain files are still that resume's.
  const isResumes = (turn.file.requested_session ?? null) !== null;
  if (turn.file.degraded !== undefined && isResumes && turn.file.resume_policy === "continue") {
    await setAsideResume(turn.directory);
  }
}

async function adopt(run: CliRun): Promise<void> {
  const { turn, parts } = run;
  const started = await adoptStarted(turn.directory);
  if (started !== undefined) {
    run.found = { started };
    return;
  }
  // Its keeper ended before it released the command, or the pids it wrote cannot be read.
  const processes = await sweepMarked(markOf(turn.file.turn_id, parts.groups.groups));
  await turn.send({ type: "processes_swept", processes });
  await refuse(run, undefined);
}

/** The native session is lost, and no event of the process that tried to resume it was logged: a fresh one takes its place. */
async function startAfresh(run: CliRun, lost: NonNullable<CliRun["attempt"]>): Promise<void> {
  const { turn, parts } = run;
  run.attempt = undefined;
  await turn.send({ type: "resume_lost", degraded: lostResume(parts, turn, lost) });
  await logDegraded(run);
  await setAsideResume(turn.directory);
  await start(run, { requested: null, startedAt: turn.file.started_at });
}

async function refuse(run: CliRun, failure: FailureDraft | undefined): Promise<void> {
  run.refusal = failure;
  await run.turn.send({ type: "start_refused" });
}

const NO_ROOM = ownFailure("storage_error", "The disk of the state directory is full: there is no room for the turn.");

async function findObstacle({ parts, turn }: CliRun): Promise<FailureDraft | undefined> {
  const session = parts.sessions.get(turn.file.session_id);
  const permissions = permissionsOf(session, turn.file);
  const missing = missingSecrets(session?.mcp_servers ?? {}, parts.sessionSecrets);
  if (missing.length > 0) {
    const names = missing.join(", ");
    return ownFailure(
      "config_invalid",
      `An MCP server of the session refers to ${names}: not set, or not named by TURND_SESSION_SECRETS.`,
    );
  }
  const { executor, mode, model } = turn.file;
  const wanted = { mode, permissions, ...(model === undefined ? {} : { model }) };
  return executorOf(parts.executors, executor).findObstacle(wanted, turn.startSignal);
}

interface StartOptions {
  /** The native session to continue. */
  readonly requested: string | null;
  readonly startedAt: PrepareOptions["startedAt"];
}

/** One process makes the home ready and becomes the keeper; it is there when the first of both is known. */
async function start(run: CliRun, options: StartOptions): Promise<void> {
  const helper = run.parts.starter?.startHelper();
  try {
    await startWith(helper, run, options);
  } finally {
    helper?.close();
  }
}

async function startWith(
  helper: Helper | undefined,
  run: CliRun,
  { requested, startedAt }: StartOptions,
): Promise<void> {
  const { turn, emitter } = run;
  const parts = helper === undefined ? run.parts : { ...run.parts, starter: helper };
  const runtime = executorOf(parts.executors, turn.file.executor);
  const located = await runtime.locate(turn.startSignal);
  if (!located.ok) throw new KeeperError(`${runtime.cliName} cannot be run: ${located.reason}`);
  // Otherwise prompt.txt is the input, as the admission wrote it.
  if (turn.file.degraded !== undefined) await prependHistory(run);
  await parts.sessions.ensureHome(turn.file.session_id);
  const prepared = await prepareTurn(parts, turn, {
    binary: located.path,
    version: located.version,
    features: located.features,
    requestedSession: requested,
    startedAt,
    signal: turn.startSignal,
  });
  if (!run.hasLoggedStarted) {
    run.hasLoggedStarted = true;
    const { mode, model, degraded } = turn.file;
    const asked = degraded?.requested ?? requested;
    await emitter.emitDaemonEvents([
      startedEvent({
        cliName: runtime.cliName,
        cliVersion: located.version,
        mode,
        model,
        requested: asked,
        trace: turn.file,
      }),
    ]);
  }
  await logDegraded(run);
  await emitter.emitDaemonEvents(prepared.warnings);
  turn.startSignal.throwIfAborted();
  const spawnedAt = performance.now();
  const started: Started = await prepared.start();
  run.found = { started, spawnedAt };
}

async function prependHistory({ parts, turn, options }: CliRun): Promise<void> {
  const input = await readInput(turn.directory);
  await replaceFile(join(turn.directory, "input.txt"), input);
  const prompt = await withHistory(input, options.earlierTurns(), {
    signal: turn.startSignal,
    onUnreadable(path, error) {
      parts.logger.warn({ turnId: turn.file.turn_id, path, err: error }, "damaged turn is left out of the history");
    },
  });
  turn.startSignal.throwIfAborted();
  await replaceFile(join(turn.directory, "prompt.txt"), prompt);
}

/** As a whole: a keeper that an earlier daemon has called up may have the old file open. */
async function replaceFile(path: string, content: string): Promise<void> {
  await writeFile(`${path}.new`, content, { mode: 0o600, flag: FRESH });
  await rename(`${path}.new`, path);
}
