import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { defined } from "../../../../kit/defined.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import type { GroupsState } from "../../process/cgroup/cgroup.ts";
import {
  adoptStarted,
  KeeperError,
  StartHangsError,
  startKept,
  type StartedProcess,
} from "../../process/keeper/keeper.ts";
import { sweepMarked } from "../../process/keeper/leftovers.ts";
import { takeStart } from "../../process/keeper/take-start.ts";
import type { Helper, Starter } from "../../process/starter/starter.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import { FRESH } from "../../storage/atomic-file.ts";
import { isStorageError } from "../../storage/storage-error.ts";
import { missingSecrets, type SessionSecrets } from "../admission/session-servers.ts";
import { permissionsOf } from "../admission/turn-permissions.ts";
import { executorOf, type Executors } from "../executors/executors.ts";
import { waitUnlessAborted } from "../executors/wait-unless-aborted.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { ownFailure } from "../outcome/own-failure.ts";
import { hasTracesOfStart } from "../store/turn-directory.ts";
import type { AttemptResult } from "./attempt.ts";
import type { Backfill } from "./backfill-output.ts";
import type { StartLog } from "./daemon-events.ts";
import type { Emitter } from "./emitter.ts";
import { readInput, withHistory } from "./history.ts";
import { findLost, lostResume, requestedSession } from "./lost-session.ts";
import type { PreparedProcess, PrepareOptions } from "./prepare.ts";
import { finishSetAside, setAsideResume, wasStarted } from "./set-aside.ts";
import { fallbackWarning, type ServerTurns } from "./start-on-server.ts";
import type { TurnBody } from "./turn-body.ts";
import { makeGroup, markOf } from "./turn-group.ts";

export interface StartParts {
  readonly executors: Executors;
  readonly sessions: Pick<SessionStore, "get" | "hasHome" | "ensureHome">;
  readonly sessionSecrets: SessionSecrets;
  readonly groups: GroupsState;
  readonly starter?: Pick<Starter, "startHelper">;
  readonly backfill: Pick<Backfill, "finish">;
  readonly prepare: (turn: Turn, options: PrepareOptions) => Promise<PreparedProcess>;
  readonly serverTurns: ServerTurns;
  /** A process of the turn's own, as what prints its output. */
  readonly keep: (turn: Turn, started: StartedProcess) => TurnBody;
  readonly logger: Logger;
}

/** A turn that has its place, and no process yet. */
export interface StartingTurn {
  readonly turn: Turn;
  readonly emitter: Pick<Emitter, "emitDaemonEvents">;
  readonly startLog: StartLog;
  /** Whether there is room for the turn's last event. */
  readonly hasRoom: Promise<boolean>;
  /** Directories of the session's earlier turns, oldest first. */
  readonly earlierTurns: () => readonly string[];
  /** Resolves when nothing of an earlier turn is being removed from the session's home any more. */
  readonly whenTidy: () => Promise<void>;
}

/** The process to follow, or why there is none; neither where the turn has left its phase for another reason. */
export interface StartResult {
  readonly process?: FoundProcess;
  readonly failure?: FailureDraft;
}

export interface FoundProcess {
  readonly body: TurnBody;
  /** When it was started; absent for one that an earlier daemon had started. */
  readonly spawnedAt?: number;
}

/**
 * What a turn does while it is `starting`: finds the process that an earlier daemon started, or starts one.
 *
 * @param lost - the process that tried to resume the native session in vain, where one did
 */
export async function startProcess(
  parts: StartParts,
  starting: StartingTurn,
  lost: AttemptResult | undefined,
): Promise<StartResult> {
  const { turn } = starting;
  const { startSignal } = turn;
  try {
    return await (lost === undefined ? findOrStart(parts, starting) : startAfresh(parts, starting, lost));
  } catch (error) {
    // Asked to end while it waited for something before a process existed.
    const isAsked = startSignal.aborted && error === startSignal.reason;
    if (!isAsked && !(error instanceof StartHangsError)) throw error;
    if (await isStartedYet(turn)) return adopt(parts, turn);
    if (!isAsked) throw error;
    await turn.send({ type: "start_given_up" });
    return {};
  }
}

/**
 * A keeper that was asked for, also by an earlier turnd, may come to its start after the turn's end. It is taken from
 * it. Law: nothing outlives its turn.
 */
async function isStartedYet(turn: Turn): Promise<boolean> {
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

async function findOrStart(parts: StartParts, starting: StartingTurn): Promise<StartResult> {
  const { turn } = starting;
  if (await hasTracesOfStart(turn.directory)) {
    await finishHalfDone(turn, () => parts.backfill.finish(turn, parts.logger));
    if (await wasStarted(turn.directory)) return adopt(parts, turn);
  }
  await waitUnlessAborted(starting.whenTidy(), turn.startSignal);
  const obstacle = await findObstacle(parts, turn);
  turn.startSignal.throwIfAborted();
  if (obstacle !== undefined) return refuse(turn, obstacle);
  if (!(await starting.hasRoom)) return refuse(turn, NO_ROOM);
  const requested = requestedSession(parts.sessions, turn);
  const lost = await findLost(parts, turn, requested);
  if (lost !== undefined) {
    if (turn.file.resume_policy === "fail") return refuse(turn, ownFailure("resume_degraded", lost.reason));
    await turn.send({ type: "resume_lost", degraded: lost });
  }
  return start(parts, starting, { requested: lost === undefined ? requested : null, startedAt: undefined });
}

/** What a daemon that was killed had begun with a turn's files. */
async function finishHalfDone(turn: Turn, finishBackfill: () => Promise<void>): Promise<void> {
  await finishSetAside(turn.directory);
  await finishBackfill();
  // An earlier daemon had given the resume up and got no further: the plain files are still that resume's.
  const isResumes = (turn.file.requested_session ?? null) !== null;
  if (turn.file.degraded !== undefined && isResumes && turn.file.resume_policy === "continue") {
    await setAsideResume(turn.directory);
  }
}

async function adopt({ groups, serverTurns, keep }: StartParts, turn: Turn): Promise<StartResult> {
  const onServer = await serverTurns.adopt(turn);
  if (onServer !== undefined) return { process: { body: onServer } };
  const started = await adoptStarted(turn.directory);
  if (started !== undefined) return { process: { body: keep(turn, started) } };
  // Its keeper ended before it released the command, or the pids it wrote cannot be read.
  const processes = await sweepMarked(markOf(turn.file.turn_id, groups.groups));
  await turn.send({ type: "processes_swept", processes });
  return refuse(turn, undefined);
}

/** The native session is lost, and no event of the process that tried to resume it was logged: a fresh one takes its place. */
async function startAfresh(parts: StartParts, starting: StartingTurn, lost: AttemptResult): Promise<StartResult> {
  const { turn, startLog } = starting;
  await turn.send({ type: "resume_lost", degraded: lostResume(parts.executors, turn, lost) });
  await startLog.degraded(turn.file.degraded);
  await setAsideResume(turn.directory);
  return start(parts, starting, { requested: null, startedAt: turn.file.started_at });
}

async function refuse(turn: Turn, failure: FailureDraft | undefined): Promise<StartResult> {
  await turn.send({ type: "start_refused" });
  return defined({ failure });
}

const NO_ROOM = ownFailure("storage_error", "The disk of the state directory is full: there is no room for the turn.");

async function findObstacle(
  { executors, sessions, sessionSecrets }: Pick<StartParts, "executors" | "sessions" | "sessionSecrets">,
  { file, startSignal }: Turn,
): Promise<FailureDraft | undefined> {
  const session = sessions.get(file.session_id);
  const permissions = permissionsOf(session, file);
  const missing = missingSecrets(session?.mcp_servers ?? {}, sessionSecrets);
  if (missing.length > 0) {
    const names = missing.join(", ");
    return ownFailure(
      "config_invalid",
      `An MCP server of the session refers to ${names}: not set, or not named by TURND_SESSION_SECRETS.`,
    );
  }
  const wanted = { mode: file.mode, permissions, ...defined({ model: file.model }) };
  return executorOf(executors, file.executor).findObstacle(wanted, startSignal);
}

interface StartOptions {
  /** The native session to continue. */
  readonly requested: string | null;
  readonly startedAt: PrepareOptions["startedAt"];
}

/** One process makes the home ready and becomes the keeper; it is there when the first of both is known. */
async function start(parts: StartParts, starting: StartingTurn, options: StartOptions): Promise<StartResult> {
  const helper = parts.starter?.startHelper();
  try {
    return await startWith(helper, parts, starting, options);
  } finally {
    helper?.close();
  }
}

async function startWith(
  helper: Helper | undefined,
  { executors, sessions, groups, prepare, serverTurns, keep, logger }: StartParts,
  starting: StartingTurn,
  { requested, startedAt }: StartOptions,
): Promise<StartResult> {
  const { turn, emitter, startLog } = starting;
  const runtime = executorOf(executors, turn.file.executor);
  const located = await runtime.locate(turn.startSignal);
  if (!located.ok) throw new KeeperError(`${runtime.cliName} cannot be run: ${located.reason}`);
  // Otherwise prompt.txt is the input, as the admission wrote it.
  if (turn.file.degraded !== undefined) await prependHistory(turn, starting.earlierTurns(), logger);
  await sessions.ensureHome(turn.file.session_id);
  const chosen = serverTurns.choose(turn, located);
  const options = {
    binary: located.path,
    version: located.version,
    features: located.features,
    requestedSession: requested,
    startedAt,
    helper,
    signal: turn.startSignal,
  };
  const onServer =
    chosen.transport === "interactive"
      ? await serverTurns.prepare(turn, { ...options, transport: "interactive" })
      : chosen;
  const isOnServer = "prepared" in onServer;
  if (!isOnServer && serverTurns.isAsking(turn)) return refuse(turn, cannotAsk(onServer.reason));
  if (!isOnServer) await serverTurns.endOf(turn);
  const prepared = isOnServer ? onServer.prepared : await prepare(turn, { ...options, transport: "headless" });
  const { mode, model, degraded } = turn.file;
  await startLog.started({
    cliName: runtime.cliName,
    cliVersion: located.version,
    mode,
    transport: isOnServer ? "interactive" : "headless",
    model,
    requested: degraded?.requested ?? requested,
    trace: turn.file,
  });
  await startLog.degraded(degraded);
  const isFallback = !isOnServer && onServer.reason !== undefined && (chosen.isAsked || chosen !== onServer);
  const fallback = isFallback ? [fallbackWarning(onServer.reason ?? "")] : [];
  await emitter.emitDaemonEvents([...fallback, ...prepared.warnings]);
  const spawnedAt = performance.now();
  if (isOnServer) {
    if (turn.startSignal.aborted) await onServer.giveUp();
    turn.startSignal.throwIfAborted();
    return { process: { body: await onServer.begin(), spawnedAt } };
  }
  turn.startSignal.throwIfAborted();
  const kept = { ...prepared.kept, directory: turn.directory, ...makeGroup(groups, turn.file.turn_id) };
  return { process: { body: keep(turn, await startKept(kept)), spawnedAt } };
}

/** Law: never pretend. Without a server nobody is asked, and everything would be done. */
function cannotAsk(reason = "its transport is headless"): FailureDraft {
  const message = `The turn is to ask before anything is done, and cannot: ${reason}.`;
  return ownFailure("executor_unavailable", message, "leave permissions.approval out, or let the turn be interactive");
}

async function prependHistory(turn: Turn, earlierTurns: readonly string[], logger: Logger): Promise<void> {
  const input = await readInput(turn.directory);
  await replaceFile(join(turn.directory, "input.txt"), input);
  const prompt = await withHistory(input, earlierTurns, {
    signal: turn.startSignal,
    onUnreadable(path, error) {
      logger.warn({ turnId: turn.file.turn_id, path, err: error }, "damaged turn is left out of the history");
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
