import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ProblemError, REPLAY, type ExecutorInfo } from "../../protocol/index.ts";
import { readEvents } from "../event-log/read-events.ts";
import { readRecordedInput } from "../replay/recording.ts";
import { RecordingError } from "../replay/recording-error.ts";
import { exportRecording } from "../replay/export.ts";
import type { Starter } from "../process/starter/starter.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import type { StateIndex } from "../state-index/state-index.ts";
import { isStorageError } from "../storage/storage-error.ts";
import { createAdmission } from "./admission/admission.ts";
import type { TurnLimits } from "./contract/limits.ts";
import type { TurnObserver } from "./contract/observer.ts";
import type { TurnTracer } from "./contract/tracer.ts";
import { listIds } from "./readiness/executors.ts";
import { executorIdOf } from "./readiness/executor-names.ts";
import { describeDamage } from "./store/damage.ts";
import { createReadiness, describeSandbox, type ReadinessParts, type SandboxParts } from "./readiness/describe.ts";
import { createExecutorLook, type ExecutorLook } from "./readiness/look-at-executor.ts";
import { createTurnQueue } from "./scheduling/queue.ts";
import { dequeue, enqueue } from "./scheduling/steering.ts";
import { createRemoval } from "./store/removal.ts";
import { createStateReserve } from "./store/reserve.ts";
import { identifyLines } from "./replay/identify-output.ts";
import { readResult, type ResultParts } from "./replay/read-result.ts";
import type { PlayParts } from "./replay/play.ts";
import type { CliParts } from "./run/cli-run.ts";
import type { TidyParts } from "./run/prepare.ts";
import type { RunParts } from "./run/run.ts";
import type { SecretBook } from "./store/secret-book.ts";
import { openDiff } from "./changes/read-diff.ts";
import { createFinder } from "./find-turns.ts";
import { startRetention, type RetentionLimits } from "./retention.ts";
import { measureDirectory } from "../process/user-files/measure-directory.ts";
import { resumeTurns } from "./resume-turns.ts";
import { createRunner } from "./run-turns.ts";
import type { TurnService } from "./turn-service.ts";
import { readSessionEvents } from "./store/session-events.ts";
import { endLeftovers } from "./run/leftovers.ts";
import { createTidying } from "./run/tidying.ts";
import { OUTPUT } from "./store/output-files.ts";
import {
  readSessionPageCursor,
  readTurnCursor,
  writeSessionPageCursor,
  writeTurnCursor,
} from "./store/page-cursors.ts";
import { readRecords } from "./store/raw-records.ts";
import { openTombstones } from "./store/tombstones.ts";
import { openTurnStore } from "./store/turn-store.ts";
import type { Concerned } from "./store/state-check.ts";
import type { RequestedStop } from "./lifecycle/inputs.ts";
import { hasEnded, LAST_LINES_MS, type Turn } from "./lifecycle/turn.ts";
import { toAdmission } from "./store/snapshot.ts";

/** How long a client that looks at an executor waits for an answer it has not given yet; CLI A alone takes 0.9 s for its version. */
const LOOK_WAIT_MS = 2_000;

/** The service and what its owner has to end it with. */
export interface RunningService extends TurnService {
  /**
   * Admits nothing more and ends what runs as `daemon_stopped`; waiting turns stay on disk for the next start.
   * Resolves when nothing of a turn is left alive.
   */
  shutDown(): Promise<void>;
}

/** What turns are run with in this sandbox; made once, at the start. */
export interface TurnServiceParts
  extends CliParts, PlayParts, ResultParts, RunParts, TidyParts, SandboxParts, ReadinessParts {
  readonly sessions: SessionStore;
  /** What is known of sessions and turns without reading their directories. */
  readonly index: StateIndex;
  readonly secrets: SecretBook;
  readonly retention: RetentionLimits;
  /** Whether a session is in use besides its turns, such as by an open terminal. */
  readonly isInUse: (sessionId: string) => boolean;
  readonly limits: TurnLimits;
  readonly observer: TurnObserver;
  readonly tracer: TurnTracer;
  readonly starter?: Starter;
}

/** Opens the state directory, resumes what an earlier daemon left behind, and serves turns. */
export async function startTurnService(parts: TurnServiceParts): Promise<RunningService> {
  const { sessions, secrets, limits, logger } = parts;
  let unreadable: string[] = [];
  const store = await openTurnStore({
    sessions,
    index: parts.index,
    onUnreadable(path, error) {
      logger.error({ path, err: error }, "turn cannot be read: its files are left alone, its processes are ended");
      unreadable.push(path);
    },
    onIndexing: (reason, count) =>
      logger.info({ reason, sessions: count }, "index of turns is made: all are read before turnd serves"),
    onCut: (path, cutBytes) => logger.warn({ path, cutBytes }, "log was not whole and is written again from there on"),
    steerWaitMs: limits.steerWaitMs,
    onUnsaved(turnId, error) {
      const sessionId = store.get(turnId)?.file.session_id;
      logger.error({ turnId, sessionId, err: error }, "turn.json could not be replaced");
    },
  });
  secrets.loadFrom(store.secretsOf);
  /** What this turnd cannot resume is ended: turns that cannot be read, and those of executors that an earlier one had. */
  async function endLost(turns: readonly Turn[]): Promise<void> {
    for (const { file } of turns) secrets.add(file, { hasEnded: false });
    const orphans = turns.filter((turn) => !parts.executors.has(turn.file.executor));
    const lost = [...unreadable, ...orphans.map(({ directory }) => directory)];
    unreadable = [];
    await endLeftovers(lost, parts);
  }
  await endLost(store.live());
  const tombstones = await openTombstones(parts.stateDirectory, parts.index);
  const tombstoneFault = tombstones.fault();
  if (tombstoneFault !== undefined) logger.error(tombstoneFault);
  const removal = createRemoval({ ...parts, store, tombstones, reserve: createStateReserve(parts.stateDirectory) });
  const tidying = createTidying(parts);
  const run = createRunner({ ...parts, store, tidying });
  const queue = createTurnQueue({
    maxTurns: limits.maxTurns,
    run: (turn) => run(turn, { hasHome: true }),
    onFault: (error) => logger.error({ err: error }, "queue could not go on with a session"),
  });
  const deleting = new Set<string>();
  const admission = createAdmission({
    ...parts,
    isBeingDeleted: (sessionId) => deleting.has(sessionId),
    store,
    queue,
    tombstones,
    enqueue: (turn) => enqueue(queue, turn),
    whenKnown,
  });

  await resumeTurns({ ...parts, turns: store.live(), queue });
  const buried = store.listed.then(() => removal.finishAll());
  async function finishCheck(): Promise<void> {
    const found = await store.checked;
    await endLost(found);
    await buried;
    await resumeTurns({ ...parts, turns: found, queue });
  }
  const known = finishCheck();
  /** Law 10: what a request needs to be known of what ran before. */
  async function whenKnown(concerned: Concerned): Promise<void> {
    const isAsIndexed = await store.isAsIndexed(concerned);
    await buried;
    if (!isAsIndexed) await known;
  }

  /** @param isUnlessInUse - leaves one alone in which a turn waits or runs, or that is in use otherwise */
  async function deleteSession(sessionId: string, isUnlessInUse: boolean): Promise<boolean> {
    if (deleting.has(sessionId)) throw new ProblemError("session_not_found", `session ${sessionId} is being deleted`);
    deleting.add(sessionId);
    try {
      // A request that was admitted before this is there to be stopped; no other is admitted.
      await admission.settled();
      const turns = store.liveOfSession(sessionId);
      if (isUnlessInUse && (parts.isInUse(sessionId) || turns.some((turn) => !hasEnded(turn)))) return false;
      await Promise.all(turns.map((turn) => stop(turn, "session_deleted")));
      // One whose end is logged may still write its result, and has its home to tidy.
      await Promise.all(turns.map(({ finished }) => finished));
      await tidying.settled(sessionId);
      await removal.remove(sessionId);
    } finally {
      deleting.delete(sessionId);
    }
    logger.info({ sessionId }, "session deleted");
    return true;
  }
  // A large state is compared while turnd serves; everything is refused where that fails.
  if (store.isChecked()) await known;
  else known.catch((error: unknown) => logger.error({ err: error }, "state could not be compared with its index"));
  const finder = createFinder({ sessions, store, queue, secrets, tombstones });
  const { find, findEnded, findSession, snapshot, toSession } = finder;

  async function stop(turn: Turn, reason: RequestedStop): Promise<void> {
    if (hasEnded(turn)) return;
    const sent = turn.send({ type: "stop_requested", reason });
    // A waiting turn runs to its end at once: it has one event, and no process.
    if (dequeue(queue, turn)) await run(turn, { hasHome: false });
    await sent.catch((error: unknown) => {
      if (!isStorageError(error)) throw error;
      const { turn_id: turnId, session_id: sessionId } = turn.file;
      logger.error({ turnId, sessionId, err: error }, "stop of a turn could not be written");
      throw new ProblemError("storage_full", `the state directory cannot be written: ${error.message}`);
    });
    await turn.finished;
  }

  async function deleteIdle(sessionId: string): Promise<boolean> {
    await known;
    if (deleting.has(sessionId) || sessions.get(sessionId) === undefined) return false;
    return deleteSession(sessionId, true);
  }
  const retention = startRetention({
    ...parts,
    limits: parts.retention,
    deleteIdle,
    measure: (sessionId, signal) => measureDirectory(sessions.paths(sessionId).root, parts.runAs, signal),
  });

  /** Aborts when turnd stops: what is being looked at for a client is given up, processes and all. */
  const stopping = new AbortController();
  const damage = (): string | undefined => describeDamage({ sessions, store, tombstones });
  const looks = new Map<string, ExecutorLook>(
    [...parts.executors.values()].map((runtime) => [runtime.executor.id, createExecutorLook(runtime, stopping.signal)]),
  );
  const lookNow = ({ look }: ExecutorLook): Promise<ExecutorInfo> => look({ provider: "asked", waitMs: LOOK_WAIT_MS });
  const readiness = createReadiness(parts, damage, [...looks.values()]);
  async function untilStopped<T>(look: () => Promise<T>): Promise<T> {
    try {
      return await look();
    } catch (error) {
      if (error !== stopping.signal.reason) throw error;
      throw new ProblemError("shutting_down", "turnd is shutting down and looks at nothing any more");
    }
  }

  return {
    async admit(request, { traceparent }) {
      const { turn, isRepeat } = await admission.admit(request, traceparent);
      return { admission: toAdmission(turn, queue.position(turn)), isRepeat };
    },
    async admitReplay(request, { traceparent }) {
      const { turn, isRepeat } = await admission.admitReplay(request, traceparent);
      return { admission: toAdmission(turn, queue.position(turn)), isRepeat };
    },
    identifyOutput(lines) {
      const executors = [...parts.executors.values()].map(({ executor }) => executor);
      try {
        return identifyLines(lines, { name: "the output", executors, advice: "choose the CLI" }).executor;
      } catch (error) {
        throw error instanceof RecordingError ? new ProblemError("invalid_request", error.message) : error;
      }
    },
    async readInput(turnId) {
      const { directory, file } = find(turnId);
      const text = (await readRecordedInput(directory)) ?? "";
      return { turn_id: turnId, text: secrets.redactorOf(file.session_id)(text), images: file.images.length };
    },
    async readRecords(turnId, { source, ...range }) {
      const { directory, file } = find(turnId);
      const redact = secrets.redactorOf(file.session_id);
      return { turn_id: turnId, source, ...(await readRecords(join(directory, OUTPUT[source]), range, redact)) };
    },
    exportRecording(turnId) {
      const { directory, file } = findEnded(turnId);
      return exportRecording(directory, secrets.redactorOf(file.session_id));
    },
    async openDiff(turnId) {
      const turn = findEnded(turnId);
      // It is written after the turn's end.
      await turn.finished;
      await tidying.settled(turn.file.session_id);
      return openDiff(turn);
    },
    listTurns({ cursor, ...page }) {
      const before = cursor === undefined ? undefined : readTurnCursor(cursor);
      const { turns, next } = store.page({ ...page, before });
      return { turns: turns.map(snapshot), ...(next === undefined ? {} : { next_cursor: writeTurnCursor(next) }) };
    },
    endOfEvents(sessionId) {
      const lastSeqs = new Map(store.liveOfSession(sessionId).map(({ file, tail }) => [file.turn_id, tail.lastSeq()]));
      const [newestTurnId] = store.turnIds(sessionId, 1);
      return { lastSeqs, ...(newestTurnId === undefined ? {} : { newestTurnId }) };
    },
    getTurn: (turnId) => snapshot(find(turnId)),
    async getResult(turnId, { isExplained = false } = {}) {
      const turn = findEnded(turnId);
      const redact = secrets.redactorOf(turn.file.session_id);
      const named = logger.child({ sessionId: turn.file.session_id });
      return readResult({ ...parts, redact, logger: named }, turn, { isExplained });
    },
    async waitForEnd(turnId, signal) {
      const turn = find(turnId);
      if (hasEnded(turn)) return true;
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => resolve(), { once: true });
      if (!signal.aborted) await Promise.race([turn.finished, promise]);
      return hasEnded(turn);
    },
    async cancel(turnId) {
      const turn = find(turnId);
      const startedAt = performance.now();
      const wasEnded = hasEnded(turn);
      const lastLines = turn.stopped.then(() => delay(LAST_LINES_MS, undefined, { ref: false }));
      await Promise.race([stop(turn, "cancel"), lastLines]);
      return {
        turn_id: turnId,
        status: turn.status,
        already_ended: wasEnded,
        ended: turn.file.ended_processes ?? [],
        duration_ms: Math.round(performance.now() - startedAt),
      };
    },
    findRequest: finder.findRequest,
    readEvents(turnId, options) {
      const turn = find(turnId);
      return readEvents(join(turn.directory, "events.jsonl"), {
        ...options,
        ...(turn.tail.isEnded() ? {} : { tail: turn.tail }),
      });
    },

    readSessionEvents(sessionId, options) {
      findSession(sessionId);
      const { cursor } = options;
      const turn = cursor === undefined ? undefined : store.get(cursor.turnId);
      if (cursor !== undefined && turn?.file.session_id !== sessionId) {
        throw new ProblemError("bad_cursor", `session ${sessionId} has no turn ${cursor.turnId}`);
      }
      const lastSeq = turn?.tail.lastSeq() ?? 0;
      if (cursor !== undefined && cursor.seq > lastSeq) {
        const message = `the cursor ${cursor.turnId}:${cursor.seq} is beyond the turn's last event, ${lastSeq}`;
        throw new ProblemError("cursor_beyond_end", message, { turn_id: cursor.turnId, last_seq: lastSeq });
      }
      return readSessionEvents(store, sessionId, options);
    },

    async createSession(request) {
      return toSession(await admission.createSession(request));
    },
    listSessions({ cursor, limit }) {
      const before = cursor === undefined ? undefined : readSessionPageCursor(cursor);
      const found = sessions.page({ before, limit: limit + 1 });
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      const next = last && writeSessionPageCursor({ createdAt: last.created_at, sessionId: last.session_id });
      return { sessions: page.map(toSession), ...(next === undefined ? {} : { next_cursor: next }) };
    },
    getSession: (sessionId) => toSession(findSession(sessionId)),
    async deleteSession(sessionId) {
      await known;
      if (!sessions.isUnreadable(sessionId)) findSession(sessionId);
      await deleteSession(sessionId, false);
    },

    listExecutors: () => untilStopped(() => Promise.all([...looks.values()].map(lookNow))),
    async getExecutor(id) {
      if (id === REPLAY) {
        const message = "replay runs no CLI and has nothing to configure; POST /v1/replays plays a recording";
        throw new ProblemError("executor_not_found", message);
      }
      const look = looks.get(executorIdOf(parts.executors, id));
      if (look === undefined)
        throw new ProblemError(
          "executor_not_found",
          `there is no executor ${id}; there are ${listIds(parts.executors)}`,
        );
      return untilStopped(() => lookNow(look));
    },
    sandbox: () => describeSandbox(parts),
    load: () => ({ queued: queue.waitingCount(), running: queue.runningCount() }),
    readiness: () => untilStopped(() => readiness(stopping.signal)),

    async shutDown() {
      stopping.abort();
      await retention.stop();
      await admission.close();
      const drained = queue.drain();
      const running = store.live().filter((turn) => turn.status === "running");
      await Promise.all(running.map((turn) => stop(turn, "shutdown")));
      await drained;
      await tidying.allSettled();
      for (const turn of store.live()) store.conclude(turn);
      await sessions.close();
    },
  };
}
