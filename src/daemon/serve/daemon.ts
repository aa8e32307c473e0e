import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { readConfigurations, renderConfigurations, type ConfiguredExecutor } from "../commands/render.ts";
import type { Executor } from "../executors/contract/executor.ts";
import { createFileService } from "../files/create-file-service.ts";
import { createApp } from "../http/app.ts";
import { addProcessMetrics, createMetrics } from "../http/routes/metrics.ts";
import { holdLock } from "../storage/lock.ts";
import { assertPlaces, assertStateIsOurs } from "./places.ts";
import { removeDirectory } from "../process/user-files/remove-directory.ts";
import { createTemporaryHomes, removeTemporaryHomes } from "../process/user-files/temporary-home.ts";
import { tryKeeper, type KeeperState } from "../process/keeper/keeper-check.ts";
import { createStarter, type Starter } from "../process/starter/starter.ts";
import { openStateIndex } from "../state-index/state-index.ts";
import { openSessionStore } from "../sessions/session-store.ts";
import type { Settings } from "../settings.ts";
import { checkDirectories } from "./start-directories.ts";
import { openGroups } from "./turn-groups.ts";
import { reportExecutors } from "./report-executors.ts";
import { stopWithin } from "./stop.ts";
import { createBrowserSessions } from "../http/inspector/browser-sessions.ts";
import { wireTerminal, type WiredTerminal } from "./terminal-wiring.ts";
import { aliasesOf } from "../turns/readiness/executor-names.ts";
import { makeGitDirectory } from "../turns/changes/git-directory.ts";
import { createExecutorRuntime, type ExecutorRuntime } from "../turns/readiness/executor-runtime.ts";
import { HomeError } from "../process/user-files/change-home.ts";
import type { SecretBook } from "../turns/store/secret-book.ts";
import { startTurnService, type TurnServiceParts } from "../turns/create-turn-service.ts";
import { startTracing } from "../tracing/start-tracing.ts";
import { VERSION } from "../version.ts";

/** A daemon that serves. */
export interface Daemon {
  /** Where `/v1` answers. */
  readonly url: string;
  /**
   * Ends running turns, shells and streams, and releases the state directory.
   *
   * Settles within `TURND_SHUTDOWN_MS`, and a second more where clients keep their connections open.
   * @throws {AggregateError} of what could not be ended or closed; everything else has been
   */
  stop(): Promise<void>;
}

export interface DaemonOptions {
  readonly settings: Settings;
  /** `sandbox/`: the keeper and the home writer. */
  readonly sandboxDirectory: string;
  readonly logger: Logger;
  readonly secrets: SecretBook;
  /** The CLIs that this daemon drives. */
  readonly executors: readonly Executor[];
}

/** For the connections of clients, where turns or shells took the whole time. */
const LAST_MS = 1_000;

/**
 * Wires the rooms and serves.
 *
 * @throws {SettingsError} for what has to be changed in the environment
 * @throws {LockedError} if another daemon has the state directory
 * @throws any other reason why it cannot serve. Turns of an earlier daemon may have been resumed by then, so the caller
 * has to end this process at once: the next start resumes what runs, as after `kill -9`
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { settings, logger } = options;
  const { values } = settings;
  assertPlaces(settings, dirname(options.sandboxDirectory));
  const configured = readConfigurations(settings, options.executors);
  await checkDirectories(settings);
  assertStateIsOurs(settings);
  const lock = await holdLock(join(values.TURND_STATE_DIR, "lock"), `pid ${process.pid}`);
  let terminal: WiredTerminal | undefined;
  let made: TurnServiceParts | undefined;
  let starter: Starter | undefined;
  let hasTurns = false;
  try {
    const metrics = createMetrics();
    addProcessMetrics(metrics);
    const tracing = await startTracing(settings, VERSION, logger);
    const parts = await createTurnParts(options, configured, { observer: metrics.observer, tracer: tracing.tracer });
    made = parts;
    for (const warning of parts.warnings) logger.warn(warning);
    const browserSessions = createBrowserSessions();
    terminal = await wireTerminal({ ...options, parts, browserSessions });
    const { service: shells, site, close: closeTerminal } = terminal;
    if (site !== undefined) logger.info({ url: describeAddress(site) }, "terminal listening");
    hasTurns = true;
    starter = await createStarter({
      program: join(options.sandboxDirectory, "starter"),
      directory: join(values.TURND_STATE_DIR, "starter"),
      logger,
    });
    const service = await startTurnService({
      ...parts,
      starter,
      isInUse: (sessionId) => shells.list().some(({ session_id: id, exit }) => id === sessionId && exit === undefined),
    });
    let isShuttingDown = false;
    const app = await createApp({
      service,
      executors: options.executors.map(({ id }) => id),
      executorAliases: aliasesOf(options.executors),
      terminal: shells,
      browserSessions,
      files: createFileService({
        program: await readFile(join(options.sandboxDirectory, "work-on-files"), "utf8"),
        runAs: settings.runAs,
        maxFileBytes: values.TURND_MAX_FILE_BYTES,
        maxTransfers: values.TURND_MAX_TRANSFERS,
        stallMs: values.TURND_TRANSFER_STALL_MS,
        maxArchiveEntries: values.TURND_MAX_ARCHIVE_ENTRIES,
        logger,
      }),
      maxFileBytes: values.TURND_MAX_FILE_BYTES,
      host: values.TURND_HOST,
      hosts: values.TURND_HOSTS,
      corsOrigins: values.TURND_CORS_ORIGINS,
      logger,
      redact: options.secrets.redact,
      maxBodyBytes: values.TURND_MAX_BODY_BYTES,
      maxStreams: values.TURND_MAX_STREAMS,
      maxFiles: await readMaxFiles(),
      heartbeatMs: values.TURND_SSE_HEARTBEAT_MS,
      ticketMs: values.TURND_TICKET_MS,
      metrics,
      // Built beside what runs, as `sandbox/` stands beside it.
      inspectorDirectory: join(dirname(options.sandboxDirectory), "dist/inspector"),
      version: VERSION,
      uptimeMs: () => Math.round(process.uptime() * 1000),
      isShuttingDown: () => isShuttingDown,
      ...(settings.token === undefined ? {} : { token: settings.token }),
    });
    // Fastify passes on to Node what its types do not name.
    const address = { host: values.TURND_HOST, port: values.TURND_PORT, reusePort: values.TURND_REUSE_PORT === "on" };
    await app.listen(address);
    if (values.TURND_SOCKET !== undefined) await app.connections.openSocket(values.TURND_SOCKET);
    await reportExecutors(parts.executors, logger);
    const url = describeAddress(app);
    logger.info({ url, pid: process.pid }, "listening");
    // The first turn does not wait for it.
    starter.begin();
    return {
      url,
      async stop() {
        isShuttingDown = true;
        const boundMs = values.TURND_SHUTDOWN_MS;
        try {
          await stopWithin({
            ends: [service.shutDown, shells.shutDown],
            closes: [() => app.close(), closeTerminal, tracing.stop],
            boundMs,
            lastMs: LAST_MS,
            onLate(what) {
              // The next start resumes what is left: its files and its keeper are there.
              if (what === "ends") logger.error({ boundMs }, "turns or shells did not end in time");
              else logger.warn({ boundMs }, "connections were cut off");
            },
          });
        } finally {
          await starter?.stop();
          parts.groups.groups?.removeEmpty();
          parts.index.close();
          await lock.release();
        }
      },
    };
  } catch (error) {
    // A page that was waiting for turnd may have reconnected already.
    await terminal?.service.shutDown();
    await terminal?.close();
    await starter?.stop();
    made?.index.close();
    // Resumed turns go on as long as this process: a turnd that took the lock now would log them twice (law 3).
    if (!hasTurns) await lock.release();
    throw error;
  }
}

/** Wires what turns run with, for a daemon or a probe; makes the directories it needs below the state directory. */
export async function createTurnParts(
  { settings, sandboxDirectory, logger, secrets }: Omit<DaemonOptions, "executors">,
  configured: readonly ConfiguredExecutor[],
  { observer, tracer }: Pick<TurnServiceParts, "observer" | "tracer">,
): Promise<TurnServiceParts> {
  const { values, runAs } = settings;
  const stateDirectory = values.TURND_STATE_DIR;
  const keeperPath = join(sandboxDirectory, "keeper");
  const homeWriter = await readFile(join(sandboxDirectory, "write-home"), "utf8");
  const onLeft = (path: string, error: unknown): void =>
    logger.warn({ path, err: error }, "temporary home of a CLI is left");
  await removeTemporaryHomes(stateDirectory, { runAs, onLeft });
  const withTemporaryHome = createTemporaryHomes({ places: [stateDirectory, tmpdir()], runAs, onLeft });
  const groups = await openGroups(settings, keeperPath);
  if (groups.reason !== undefined) logger.info({ reason: groups.reason }, "turns have no limits of their own");
  // Each waits for a process of its own.
  const [keeper, notRendered, gitDirectory] = await Promise.all([
    tryKeeper(keeperPath, stateDirectory, runAs),
    renderAtStart(configured, { home: values.TURND_HOME, runAs, homeWriter }),
    makeGitDirectory(stateDirectory),
  ]);
  const warnings = [
    ...configured.flatMap(({ configuration }) => configuration.warnings),
    ...describeKeeper(keeper, runAs.isSelf),
    ...notRendered,
  ];
  const baseEnv = { SHELL: "/bin/bash", ...settings.passedEnv };
  const index = openStateIndex({
    path: join(stateDirectory, "index.db"),
    sessionsDirectory: join(stateDirectory, "sessions"),
    onFault: (error) =>
      logger.warn({ err: error }, "index of the state is kept in memory; the next start makes it again"),
  });
  const sessions = await openSessionStore({
    stateDirectory,
    index,
    owner: runAs,
    removeTree: (path, bounds) => removeDirectory(path, { runAs, ...bounds }),
    onUnreadable: (path, reason) => logger.error({ path, reason }, "session cannot be read and is left alone"),
    onExposed: (path, error) => logger.warn({ path, err: error }, "directory of the sessions may be listed by others"),
    onLeft: (path, error) => logger.error({ path, err: error }, "part of a deleted session is left"),
  });
  const executors = new Map<Executor["id"], ExecutorRuntime>();
  for (const { executor, cliName, configuration, explicitBinary } of configured) {
    executors.set(
      executor.id,
      createExecutorRuntime({
        executor,
        cliName,
        configuration,
        env: baseEnv,
        runAs,
        withTemporaryHome,
        redact: secrets.redact,
        isProviderChecked: values.TURND_CHECK_PROVIDER === "on",
        allowsWorkspaceCode: values.TURND_ALLOW_WORKSPACE_PLUGINS === "1",
        now: () => new Date(),
        ...(explicitBinary === undefined ? {} : { explicitBinary }),
      }),
    );
  }
  return {
    version: VERSION,
    stateDirectory,
    keeperPath,
    homeWriter,
    homeDirectory: values.TURND_HOME,
    workspace: values.TURND_WORKSPACE,
    workspaceRoots: settings.workspaceRoots,
    runAs,
    limits: {
      maxTurns: values.TURND_MAX_TURNS,
      maxQueued: values.TURND_MAX_QUEUED,
      turnTimeoutMs: values.TURND_TURN_TIMEOUT_MS,
      idleTimeoutMs: values.TURND_IDLE_TIMEOUT_MS,
      startTimeoutMs: values.TURND_START_TIMEOUT_MS,
      cancelGraceMs: values.TURND_CANCEL_GRACE_MS,
      shutdownMs: values.TURND_SHUTDOWN_MS,
      steerWaitMs: values.TURND_STEER_WAIT_MS,
      maxOutputBytes: values.TURND_MAX_OUTPUT_BYTES,
      maxLineBytes: values.TURND_MAX_LINE_BYTES,
      minFreeBytes: values.TURND_MIN_FREE_BYTES,
    },
    baseEnv,
    sessionSecrets: settings.sessionSecrets,
    changes: {
      program: await readFile(join(sandboxDirectory, "track-changes"), "utf8"),
      gitDirectory,
      timeoutMs: values.TURND_DIFF_TIMEOUT_MS,
      maxBytes: values.TURND_MAX_DIFF_BYTES,
      isDefault: values.TURND_TURN_DIFF === "on",
    },
    groups,
    hasSubreaper: keeper.works && keeper.isSubreaper,
    warnings,
    sessions,
    index,
    retention: { days: values.TURND_RETENTION_DAYS, bytes: values.TURND_RETENTION_BYTES },
    isInUse: () => false,
    executors,
    redact: secrets.redact,
    secrets,
    now: () => new Date(),
    logger,
    observer,
    tracer,
  };
}

/** Most files this process may have open; Node has raised its soft limit to the hard one. */
async function readMaxFiles(): Promise<number> {
  const limits = await readFile("/proc/self/limits", "utf8");
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
}

function describeKeeper(keeper: KeeperState, isSelf: boolean): string[] {
  if (!keeper.works) return [`no turn can run: ${keeper.reason}`];
  return [
    ...(keeper.isSubreaper ? [] : ["no subreaper here: an escaped process is found only by its environment"]),
    ...(isSelf ? ["the CLIs run as turnd's own user: they could read its state and end it"] : []),
  ];
}

/** Reports a home that cannot be written; the sessions' own homes hold what their turns need. */
async function renderAtStart(
  configured: readonly ConfiguredExecutor[],
  target: Parameters<typeof renderConfigurations>[1],
): Promise<string[]> {
  try {
    await renderConfigurations(configured, target);
    return [];
  } catch (error) {
    if (!(error instanceof HomeError) && !(error instanceof Error && "code" in error)) throw error;
    return [`configurations could not be rendered: ${error.message}`];
  }
}

function describeAddress({ server }: FastifyInstance): string {
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("the server listens on no port");
  return `http://${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}`;
}
