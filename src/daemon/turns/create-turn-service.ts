import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ProblemError, REPLAY, type ExecutorInfo, type Session } from "../../protocol/index.ts";
import { readEvents } from "../event-log/read-events.ts";
import { exportRecording } from "../replay/export.ts";
import type { SessionFile, SessionStore } from "../sessions/session-store.ts";
import { createAdmission, unreadableSession } from "./admission/admission.ts";
import type { TurnLimits } from "./contract/limits.ts";
import type { TurnObserver } from "./contract/observer.ts";
import { listIds } from "./readiness/executors.ts";
import { describeDamage } from "./store/damage.ts";
import { createReadiness, describeSandbox, type ReadinessParts, type SandboxParts } from "./readiness/describe.ts";
import { endWithoutLog } from "./outcome/end.ts";
import { createExecutorLook, type ExecutorLook } from "./readiness/look-at-executor.ts";
import { createTurnQueue } from "./scheduling/queue.ts";
import { createRemoval } from "./store/removal.ts";
import { createStateReserve } from "./store/reserve.ts";
import { readResult, type ResultParts } from "./replay/read-result.ts";
import { playTurn, type PlayParts } from "./replay/play.ts";
import type { CliParts, CliRunOptions } from "./run/cli-run.ts";
import type { TidyParts } from "./run/prepare.ts";
import { runTurn, type RunParts } from "./run/run.ts";
import { runCliTurn } from "./run/run-cli.ts";
import type { SecretBook } from "./store/secret-book.ts";
import type { TurnService } from "./turn-service.ts";
import { wasStarted } from "./run/set-aside.ts";
import { readSessionEvents } from "./store/session-events.ts";
import { endLeftovers } from "./run/leftovers.ts";
import { createTidying } from "./run/tidying.ts";
import { openTombstones } from "./store/tombstones.ts";
import { describeUnreadable, openTurnStore } from "./store/turn-store.ts";
import type { RequestedStop } from "./lifecycle/inputs.ts";
import { hasEnded, LAST_LINES_MS, type Turn } from "./lifecycle/turn.ts";
import { toAdmission, toSnapshot } from "./store/snapshot.ts";

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
  readonly secrets: SecretBook;
  readonly limits: TurnLimits;
  readonly observer: TurnObserver;
}

/** Opens the state directory, resumes what an earlier daemon left behind, and serves turns. */
export async function startTurnService(parts: TurnServiceParts): Promise<RunningService> {
  const { sessions, secrets, limits, logger } = parts;
  const unreadable: string[] = [];
  const store = await openTurnStore({
    sessions,
    onUnreadable(path, error) {
      logger.error({ path, err: error }, "turn cannot be read: its files are left alone, its processes are ended");
      unreadable.push(path);
    },
    onCut: (path, cutBytes) => logger.warn({ path, cutBytes }, "log was not whole and is written again from there on"),
    steerWaitMs: limits.steerWaitMs,
    onUnsaved: (turnId, error) => logger.error({ turnId, err: error }, "turn.json could not be replaced"),
  });
  for (const turn of store.list()) secrets.add(turn.file, { hasEnded: hasEnded(turn) });
  // What an earlier turnd with more executors had started: nothing here reads what it prints, so it is ended at once.
  const orphans = store.list().filter((turn) => !hasEnded(turn) && !parts.executors.has(turn.file.executor));
  await endLeftovers([...unreadable, ...orphans.map(({ directory }) => directory)], parts);
  const tombstones = await openTombstones(parts.stateDirectory);
  const tombstoneFault = tombstones.fault();
  if (tombstoneFault !== undefined) logger.error(tombstoneFault);
  const removal = createRemoval({ ...parts, store, tombstones, reserve: createStateReserve(parts.stateDirectory) });
  await removal.finishAll();
  const queue = createTurnQueue({
    maxTurns: limits.maxTurns,
    run,
    onFault: (error) => logger.error({ err: error }, "queue could not go on with a session"),
  });
  const tidying = createTidying(parts);
  const deleting = new Set<string>();
  const admission = createAdmission({
    ...parts,
    isBeingDeleted: (sessionId) => deleting.has(sessionId),
    store,
    queue,
    tombstones,
    enqueue(turn) {
      const running = queue.running(turn.file.session_id);
      if (turn.file.queue_policy !== "steer") return queue.push(turn);
      queue.pushFirst(turn);
      void running?.send({ type: "steer_requested" });
    },
  });

  /** Its session's secrets are taken out of all that is logged and served of a turn. */
  const partsOf = ({ file }: Turn): TurnServiceParts => ({ ...parts, redact: secrets.redactorOf(file.session_id) });

  function siblingsOf({ file }: Turn): CliRunOptions {
    return {
      earlierTurns: () =>
        store
          .ofSession(file.session_id)
          .filter((other) => other.file.order < file.order)
          .map((other) => other.directory),
      whenTidy: () => tidying.settled(file.session_id),
    };
  }

  async function run(turn: Turn): Promise<void> {
    // A turn that ends while it waits in line has no home: what lies there belongs to another turn.
    const hasHome = queue.running(turn.file.session_id) === turn;
    await turn.send({ type: "dequeued" });
    try {
      await runTurn(partsOf(turn), turn, (open) =>
        turn.file.replay === undefined
          ? runCliTurn(partsOf(turn), open, siblingsOf(turn))
          : playTurn(partsOf(turn), open),
      );
    } catch (error) {
      // What comes after its end changes nothing for the turn any more.
      if (hasEnded(turn)) logger.error({ turnId: turn.file.turn_id, err: error }, "turn could not be left in order");
      else await endWithoutLog(parts, turn, error);
    } finally {
      await turn.send({ type: "closed" });
      if (hasEnded(turn)) secrets.end(turn.file.turn_id);
      if (hasEnded(turn)) tidying.begin(turn, { hasHome });
    }
  }

  const unfinished = store
    .list()
    .toReversed()
    .filter((turn) => !hasEnded(turn));
  const started = new Set<Turn>();
  for (const turn of unfinished) if (await hasBegun(turn)) started.add(turn);
  // What was running goes on; what had been put first in line is first again, the latest before the others.
  const rank = ({ file }: Turn, hasRun: boolean): number =>
    hasRun ? -Infinity : file.queue_policy === "steer" ? -file.order : 0;
  for (const turn of unfinished.toSorted((a, b) => rank(a, started.has(a)) - rank(b, started.has(b)) || 0)) {
    logger.info({ turnId: turn.file.turn_id, wasStarted: started.has(turn) }, "turn resumed after a restart");
    queue.push(turn);
  }
  for (const turn of started) if (isSteered(turn, unfinished)) void turn.send({ type: "steer_requested" });

  function find(turnId: string): Turn {
    const turn = store.get(turnId);
    if (turn !== undefined) return turn;
    const { session_id: sessionId } = store.getUnreadable(turnId) ?? {};
    if (sessionId === undefined) throw new ProblemError("turn_not_found", `there is no turn ${turnId}`);
    const message = `turn ${turnId} is there and cannot be read; turnd's log says why, and deleting its session, ${sessionId}, removes it`;
    throw new ProblemError("turn_not_found", message);
  }
  function findSession(sessionId: string): SessionFile {
    const session = sessions.get(sessionId);
    if (session !== undefined) return session;
    if (sessions.isUnreadable(sessionId)) throw unreadableSession("session_not_found", sessionId);
    throw new ProblemError("session_not_found", `there is no session ${sessionId}`);
  }
  const snapshot = (turn: Turn) => toSnapshot(turn, queue.position(turn));
  function findEnded(turnId: string): Turn {
    const turn = find(turnId);
    if (hasEnded(turn)) return turn;
    const message = `turn ${turnId} is ${turn.status}; wait for its end on its events`;
    throw new ProblemError("turn_not_ended", message, { turn: snapshot(turn) });
  }

  async function stop(turn: Turn, reason: RequestedStop): Promise<void> {
    if (hasEnded(turn)) return;
    void turn.send({ type: "stop_requested", reason });
    // A waiting turn runs to its end at once: it has one event, and no process.
    if (queue.remove(turn)) await run(turn);
    await turn.finished;
  }

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
    async admit(request, { traceId }) {
      const { turn, isRepeat } = await admission.admit(request, traceId);
      return { admission: toAdmission(turn, queue.position(turn)), isRepeat };
    },
    async admitReplay(request, { traceId }) {
      const { turn, isRepeat } = await admission.admitReplay(request, traceId);
      return { admission: toAdmission(turn, queue.position(turn)), isRepeat };
    },
    exportRecording(turnId) {
      const { directory, file } = findEnded(turnId);
      return exportRecording(directory, secrets.redactorOf(file.session_id));
    },
    listTurns({ sessionId, status, limit }) {
      return store
        .list()
        .filter((turn) => sessionId === undefined || turn.file.session_id === sessionId)
        .filter((turn) => status === undefined || turn.status === status)
        .slice(0, limit)
        .map(snapshot);
    },
    getTurn: (turnId) => snapshot(find(turnId)),
    async getResult(turnId, { isExplained = false } = {}) {
      const turn = findEnded(turnId);
      return readResult(partsOf(turn), turn, { isExplained });
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
        ended: [...turn.endedProcesses],
        duration_ms: Math.round(performance.now() - startedAt),
      };
    },
    findRequest(requestId) {
      const turn = store.findRequest(requestId);
      if (turn !== undefined) return snapshot(turn);
      const lost = store.findUnreadable(requestId);
      if (lost !== undefined)
        throw new ProblemError("request_not_found", describeUnreadable(lost), { turn_id: lost.turn_id });
      const stone = tombstones.find(requestId);
      const fault = tombstones.fault() ?? store.lostRequests();
      const doubt = fault === undefined ? "" : ` that can be read; it may have run: ${fault}`;
      if (stone === undefined) throw new ProblemError("request_not_found", `there is no request ${requestId}${doubt}`);
      const message = `request ${requestId} ran in session ${stone.session_id}, which was deleted`;
      throw new ProblemError("session_not_found", message, { turn_id: stone.turn_id });
    },
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
    listSessions: () => sessions.list().map(toSession),
    getSession: (sessionId) => toSession(findSession(sessionId)),
    async deleteSession(sessionId) {
      if (!sessions.isUnreadable(sessionId)) findSession(sessionId);
      if (deleting.has(sessionId)) throw new ProblemError("session_not_found", `session ${sessionId} is being deleted`);
      deleting.add(sessionId);
      try {
        // A request that was admitted before this is there to be stopped; no other is admitted.
        await admission.settled();
        const turns = store.ofSession(sessionId);
        await Promise.all(turns.map((turn) => stop(turn, "session_deleted")));
        await tidying.settled(sessionId);
        await removal.remove(sessionId);
      } finally {
        deleting.delete(sessionId);
      }
      logger.info({ sessionId }, "session deleted");
    },

    listExecutors: () => untilStopped(() => Promise.all([...looks.values()].map(lookNow))),
    async getExecutor(id) {
      if (id === REPLAY) {
        const message = "replay runs no CLI and has nothing to configure; POST /v1/replays plays a recording";
        throw new ProblemError("executor_not_found", message);
      }
      const look = looks.get(id);
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
      await admission.close();
      const drained = queue.drain();
      const running = store.list().filter((turn) => turn.status === "running");
      await Promise.all(running.map((turn) => stop(turn, "shutdown")));
      await drained;
      await tidying.allSettled();
      await sessions.close();
    },
  };

  function toSession(session: SessionFile): Session {
    const turns = store.ofSession(session.session_id);
    const running = queue.running(session.session_id);
    return {
      session_id: session.session_id,
      executor: session.executor,
      workspace: session.workspace,
      permissions: session.permissions,
      ...(session.metadata === undefined ? {} : { metadata: session.metadata }),
      ...(session.native_session_id === undefined ? {} : { native_session_id: session.native_session_id }),
      created_at: session.created_at,
      turns: turns.map((turn) => turn.file.turn_id),
      ...(running === undefined ? {} : { running_turn: running.file.turn_id }),
    };
  }
}

/** Whether a later turn of its session asked an earlier daemon to take over. */
function isSteered({ file }: Turn, unfinished: readonly Turn[]): boolean {
  return unfinished.some(
    ({ file: { session_id, queue_policy, order } }) =>
      session_id === file.session_id && queue_policy === "steer" && order > file.order,
  );
}

/** Whether something of a turn has happened already: those go on before any other begins. */
async function hasBegun({ file, directory }: Turn): Promise<boolean> {
  return file.replay === undefined ? wasStarted(directory) : file.started_at !== undefined;
}
