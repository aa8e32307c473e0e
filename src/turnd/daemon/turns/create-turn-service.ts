import type { RequestedTransport } from "../../protocol/index.ts";
import type { Logger } from "pino";
import type { GroupsState } from "../process/cgroup/cgroup.ts";
import type { RunAs } from "../process/run-as.ts";
import type { Starter } from "../process/starter/starter.ts";
import { measureDirectory } from "../process/user-files/measure-directory.ts";
import type { SessionStore } from "../sessions/session-store.ts";
import type { StateIndex } from "../state-index/state-index.ts";
import { createAdmission, type AdmissionParts } from "./admission/admission.ts";
import type { SessionSecrets } from "./admission/session-servers.ts";
import type { Executors } from "./executors/executors.ts";
import type { TurnLimits } from "./lifecycle/limits.ts";
import type { TurnObserver } from "./lifecycle/observer.ts";
import type { TurnTracer } from "./lifecycle/tracer.ts";
import { createFinder } from "./find-turns.ts";
import type { Turn } from "./lifecycle/turn.ts";
import { createExecutorLooks } from "./executors/look-at-executors.ts";
import { checkReadiness, describeSandbox } from "./executors/readiness.ts";
import { createTurnReads } from "./read-turns.ts";
import { createTurnQuestions } from "./run/ask-turns.ts";
import { endLeftServers, resumeTurns } from "./run/resume-turns.ts";
import { createServers, type ServersParts } from "./run/servers.ts";
import { startRetention, type RetentionLimits } from "./store/retention.ts";
import { createEnvironments } from "./run/cli-environment.ts";
import { endLeftovers } from "./run/end-unreadable-turns.ts";
import { createCliRunner } from "./run/run-cli.ts";
import { createTidying } from "./run/tidying.ts";
import { createRunner } from "./create-runner.ts";
import { createTurnQueue } from "./admission/queue.ts";
import { enqueue } from "./admission/steering.ts";
import { createStops } from "./run/stop-turns.ts";
import { describeDamage } from "./store/damage.ts";
import { createRemoval } from "./store/removal.ts";
import { createChangeRecorder, type ChangeOptions } from "./store/record-changes.ts";
import { createStateReserve } from "./store/reserve.ts";
import type { SecretBook } from "./store/secret-book.ts";
import { toAdmission } from "./store/snapshot.ts";
import type { RequestScope } from "./store/state-check.ts";
import { openTombstones } from "./store/tombstones.ts";
import { openTurnStore } from "./store/turn-store.ts";
import type { RequestedIds, TurnService } from "./turn-service.ts";

/** The service and what its owner has to end it with. */
export interface RunningService extends TurnService {
  /**
   * Admits nothing more and ends what runs as `daemon_stopped`; waiting turns stay on disk for the next start.
   * Resolves when nothing of a turn is left alive.
   */
  shutDown(): Promise<void>;
}

/** What turns are run with in this sandbox; made once, at the start. */
export interface TurnServiceParts {
  /** Of turnd. */
  readonly version: string;
  readonly executors: Executors;
  readonly sessions: SessionStore;
  /** What is known of sessions and turns without reading their directories. */
  readonly index: StateIndex;
  readonly secrets: SecretBook;
  readonly stateDirectory: string;
  /** Where a turn works that names no other place, and where others may. */
  readonly workspace: string;
  readonly workspaceRoots: readonly string[];
  readonly sessionWorkspace: AdmissionParts["sessionWorkspace"];
  /** HOME of the CLIs. */
  readonly homeDirectory: string;
  /** The allow-listed part of turnd's own environment. */
  readonly baseEnv: Readonly<Record<string, string>>;
  /** What sessions' servers may refer to. */
  readonly sessionSecrets: SessionSecrets;
  readonly runAs: RunAs;
  readonly groups: GroupsState;
  /** Whether a keeper can adopt what escapes. */
  readonly hasSubreaper: boolean;
  /** `sandbox/keeper`. */
  readonly keeperPath: string;
  readonly starter?: Starter;
  readonly changes: ChangeOptions;
  readonly limits: TurnLimits;
  /** How turns are driven that do not say. */
  readonly defaultTransport: RequestedTransport;
  /** How many servers of CLIs stay without a turn, and how long. */
  readonly warm: ServersParts["warm"];
  readonly retention: RetentionLimits;
  /** Whether a session is in use besides its turns, such as by an open terminal. */
  readonly isInUse: (sessionId: string) => boolean;
  readonly observer: TurnObserver;
  readonly tracer: TurnTracer;
  /** What a person should know of this machine. */
  readonly warnings: readonly string[];
  readonly now: () => Date;
  /** Milliseconds since the epoch, for the time of events. */
  readonly clock: () => number;
  readonly logger: Logger;
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
  const graceOver = new AbortController();
  const environmentOf = createEnvironments(parts);
  const recorder = createChangeRecorder(parts);
  const tidying = createTidying({ ...parts, environmentOf, recorder });
  const servers = createServers(parts);
  const runCli = createCliRunner({
    ...parts,
    environmentOf,
    recorder,
    servers,
    holdBackOf: (sessionId) => secrets.holdBackOf(sessionId),
    graceOver: graceOver.signal,
  });
  const run = createRunner({ ...parts, runCli, store, tidying });
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
    enqueue(turn) {
      enqueue(queue, turn).catch((error: unknown) => {
        const { turn_id: turnId, session_id: sessionId } = turn.file;
        logger.error({ turnId, sessionId, err: error }, "running turn could not be given what a later one says");
      });
    },
    whenKnown,
  });

  await resumeTurns({ ...parts, turns: store.live(), queue });
  const buried = store.listed.then(() => removal.finishAll());
  async function finishCheck(): Promise<void> {
    const found = await store.checked;
    await endLost(found);
    await buried;
    await resumeTurns({ ...parts, turns: found, queue });
    await endLeftServers(servers, store.live());
  }
  const known = finishCheck();
  /** Law: at most once. What a request needs to be known of what ran before. */
  async function whenKnown(concerned: RequestScope): Promise<void> {
    const isAsIndexed = await store.isAsIndexed(concerned);
    await buried;
    if (!isAsIndexed) await known;
  }

  async function untilKnown({
    turn_id: turnId,
    session_id: sessionId,
    request_id: requestId,
  }: RequestedIds): Promise<void> {
    if (store.isChecked()) return;
    const isKnown =
      (turnId === undefined || store.get(turnId) !== undefined) &&
      (requestId === undefined || store.findRequest(requestId) !== undefined) &&
      (sessionId === undefined || (sessions.get(sessionId) !== undefined && store.isSessionTrusted(sessionId)));
    // Where it fails that is logged, and what is known is served.
    if (!isKnown) await known.catch(() => undefined);
  }

  const stops = createStops({ ...parts, servers, store, queue, run, admission, tidying, removal, deleting });
  // A large state is compared while turnd serves; everything is refused where that fails.
  if (store.isChecked()) await known;
  else known.catch((error: unknown) => logger.error({ err: error }, "state could not be compared with its index"));
  const finder = createFinder({ sessions, store, queue, secrets, tombstones });
  const { find, findSession, toSession } = finder;
  const reads = createTurnReads({ ...parts, store, finder, tidying });
  const damage = (): string | undefined => describeDamage({ sessions, store, tombstones });
  const looks = createExecutorLooks(parts.executors, (executors, signal) =>
    checkReadiness({ ...parts, damage }, executors, signal),
  );
  const retention = startRetention({
    ...parts,
    limits: parts.retention,
    async deleteIdle(sessionId) {
      await known;
      return stops.deleteIdle(sessionId);
    },
    isInUse: (sessionId) => stops.isInUse(sessionId),
    monotonicMs: () => performance.now(),
    measure: (sessionId, signal) => measureDirectory(sessions.paths(sessionId).root, parts.runAs, signal),
  });

  return {
    untilKnown,
    async admit(request, { traceparent }) {
      // One that makes a session where there is none waits in the gate, where it has to.
      if (request.executor === undefined) await untilKnown({ session_id: request.session_id });
      const { turn, isRepeat } = await admission.admit(request, traceparent);
      return { admission: toAdmission(turn, queue.position(turn)), isRepeat };
    },
    async admitReplay(request, { traceparent }) {
      const { turn, isRepeat } = await admission.admitReplay(request, traceparent);
      return { admission: toAdmission(turn, queue.position(turn)), isRepeat };
    },
    ...reads,
    ...createTurnQuestions(find),
    cancel: async (turnId) => stops.cancel(find(turnId)),

    async createSession(request) {
      return toSession(await admission.createSession(request));
    },
    async deleteSession(sessionId) {
      await known;
      if (!sessions.isUnreadable(sessionId)) findSession(sessionId);
      await stops.deleteSession(sessionId);
    },

    listExecutors: looks.listExecutors,
    getExecutor: looks.getExecutor,
    readiness: looks.readiness,
    sandbox: () => describeSandbox(parts),
    load: () => ({ queued: queue.waitingCount(), running: queue.runningCount() }),

    async shutDown() {
      // Half of the bound is for what comes after: sweeping, and logging the ends.
      setTimeout(() => graceOver.abort(), limits.shutdownMs / 2).unref();
      looks.stop();
      await retention.stop();
      await admission.close();
      const drained = queue.drain();
      const running = store.live().filter((turn) => turn.status === "running");
      await Promise.all(running.map((turn) => stops.stop(turn, "shutdown")));
      await drained;
      await servers.endAll();
      await tidying.allSettled();
      for (const turn of store.live()) store.conclude(turn);
      await sessions.close();
    },
  };
}
