import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { createAgents } from "./agents/agents.ts";
import { putAgents, readAgentsFile } from "./agents/seed.ts";
import { createAuth, type Auth } from "./auth/auth.ts";
import { deleteExpiredLogins } from "./auth/sweep.ts";
import { createCalls } from "./calls/calls.ts";
import { createApp } from "./http/app.ts";
import type { Check } from "./http/routes/system.ts";
import { attemptRun, nameWorker } from "./runs/attempt.ts";
import type { AttemptOptions } from "./runs/attempt-context.ts";
import { cancelAllOf, createControls, type Controls } from "./runs/control.ts";
import { createOutbound, type Outbound } from "./outbound/outbound.ts";
import { createRunEvents, type RunEvents } from "./runs/events.ts";
import type { FinishOptions } from "./runs/finish.ts";
import { createRuns } from "./runs/runs.ts";
import { deleteExpiredEvents, ensureRunJobs } from "./runs/sweep.ts";
import type { Sandboxes } from "./sandboxes/sandboxes.ts";
import { checkSecrets, readSecrets, type Secrets } from "./secrets.ts";
import type { Settings } from "./settings.ts";
import { holdDataDirectory, type Lock } from "./storage/lock.ts";
import { openStorage, type Storage } from "./storage/storage.ts";
import { createTaskWorker } from "./tasks/attempt-task.ts";
import type { AnyTaskKind } from "./tasks/define-task.ts";
import { ensureTaskJobs } from "./tasks/sweep.ts";
import { createTaskControls, type TaskControls } from "./tasks/task-controls.ts";
import { createTasks } from "./tasks/tasks.ts";
import { createThreads } from "./threads/threads.ts";
import { deliver, ensureDeliveryJobs } from "./webhooks/deliver.ts";
import { noteEnd } from "./webhooks/note-end.ts";
import { createWebhooks } from "./webhooks/webhooks.ts";

/** What a process does: answer calls, work on runs, or both. */
export type ProcessRole = "serve" | "api" | "worker";

/** A service that runs. */
export interface Service {
  /** Where it answers; undefined for a worker. */
  readonly url: string | undefined;
  /** Settles within `SERVICE_SHUTDOWN_MS` and a little. Safe to call twice. */
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly settings: Settings;
  readonly role: ProcessRole;
  readonly logger: Logger;
  readonly version: string;
  /** Makes the sandboxes of the chosen kind; the caller knows programs and environments. */
  readonly createSandboxes: (wiring: { storage: Storage; secrets: Secrets }) => Sandboxes;
  readonly onStep?: AttemptOptions["onStep"];
}

const SWEEP_MS = 30_000;
/** The kinds of background work that there are. */
const TASK_KINDS: readonly AnyTaskKind[] = [];
/** Deliveries of one process: each mostly waits for its receiver. */
const WEBHOOKS_AT_ONCE = 8;
const PGLITE_RUNS = 16;
const POSTGRES_RUNS = 64;

/** How many runs a process works on at once. */
export function runConcurrency({ values }: Settings): number {
  if (values.SERVICE_RUN_CONCURRENCY > 0) return values.SERVICE_RUN_CONCURRENCY;
  return values.DATABASE_URL === undefined ? PGLITE_RUNS : POSTGRES_RUNS;
}

/**
 * Wires the rooms and starts them: lock, database, workers, HTTP.
 *
 * @throws {DataDirectoryHeld} where another process has the data directory
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { settings, role, logger } = options;
  const closers: (() => Promise<void>)[] = [];
  try {
    return await start(options, closers);
  } catch (error) {
    for (const close of closers.toReversed()) {
      await close().catch((fault: unknown) =>
        logger.error({ err: fault, role, port: settings.values.SERVICE_PORT }, "start undone only in part"),
      );
    }
    throw error;
  }
}

async function start(options: ServiceOptions, closers: (() => Promise<void>)[]): Promise<Service> {
  const { settings, role, logger } = options;
  const { values, dataDirectory } = settings;
  const lock = await holdWhatIsNeeded(settings, role);
  closers.push(async () => lock?.release());
  const storage = await openStorage({
    engine:
      values.DATABASE_URL === undefined
        ? { kind: "pglite", directory: join(dataDirectory, "pglite") }
        : { kind: "postgres", url: values.DATABASE_URL, poolSize: values.SERVICE_DB_POOL },
    logger,
    isMigrating: values.SERVICE_MIGRATE,
    leaseMs: values.SERVICE_LEASE_MS,
  });
  closers.push(() => storage.close());
  const secrets = await readSecrets(settings, dataDirectory);
  const warnings = await checkSecrets(storage, secrets);
  for (const warning of warnings) logger.warn(warning);
  const finishing: FinishOptions = {
    storage,
    eventsRetentionMs: values.SERVICE_EVENTS_RETENTION_MS,
    onEnded: (trx, run) => noteEnd(storage, trx, run),
  };
  const outbound = createOutbound({
    allow: values.SERVICE_OUTBOUND_ALLOW,
    nameServers: values.SERVICE_OUTBOUND_DNS,
    proxy: values.SERVICE_OUTBOUND_PROXY,
  });
  const auth = createAuth({
    storage,
    jwtSecret: secrets.jwt,
    keySecret: secrets.key,
    jwtTtlMs: values.SERVICE_JWT_TTL_MS,
    lockout: {
      perName: values.SERVICE_LOGIN_FAILURES,
      perAddress: values.SERVICE_LOGIN_FAILURES_IP,
      windowMs: values.SERVICE_LOGIN_WINDOW_MS,
    },
    initToken: values.SERVICE_INIT_TOKEN,
    onUserDeleted: (trx, userId) => cancelAllOf(finishing, trx, userId),
  });
  await makeAdministrator(auth, settings, logger);
  await putAgents(storage, await readAgentsFile(values.SERVICE_AGENTS_FILE));
  const events = await createRunEvents(storage);
  closers.push(() => events.close());
  const controls = await createControls(storage, logger);
  closers.push(() => controls.close());
  const taskControls = await createTaskControls(storage, logger);
  closers.push(() => taskControls.close());

  let isShuttingDown = false;
  const sandboxes = role === "api" ? undefined : options.createSandboxes({ storage, secrets });
  closers.push(async () => sandboxes?.close());
  if (sandboxes !== undefined)
    await startWorkers(options, {
      storage,
      sandboxes,
      controls,
      taskControls,
      finishing,
      outbound,
      keySecret: secrets.key,
    });
  const app =
    role === "worker"
      ? undefined
      : await startApi(options, {
          storage,
          auth,
          events,
          finishing,
          sandboxes,
          warnings,
          outbound,
          keySecret: secrets.key,
          isShuttingDown: () => isShuttingDown,
        });
  const sweeping = setInterval(() => {
    storage.jobs.requestSweep().catch((error: unknown) => logger.warn({ err: error }, "sweep could not be asked for"));
  }, SWEEP_MS);
  sweeping.unref();

  let stopping: Promise<void> | undefined;
  async function stop(): Promise<void> {
    isShuttingDown = true;
    clearInterval(sweeping);
    await inOrder(logger, [
      async () => app?.close(),
      // Its turns end as `daemon_stopped`, and that is written before the attempts are told to stop.
      async () => sandboxes?.close(),
      () => storage.jobs.stop(values.SERVICE_SHUTDOWN_MS / 2),
      () => controls.close(),
      () => taskControls.close(),
      () => events.close(),
      () => storage.close(),
      async () => lock?.release(),
    ]);
  }
  const url = app === undefined ? undefined : describeAddress(app);
  logger.info({ url, role, engine: storage.engine, pid: process.pid }, "listening");
  return { url, stop: () => (stopping ??= stop()) };
}

/** PGlite is one process's alone, and so is a turnd in the data directory. */
async function holdWhatIsNeeded({ values, dataDirectory }: Settings, role: ProcessRole): Promise<Lock | undefined> {
  const isPglite = values.DATABASE_URL === undefined;
  if (isPglite && role !== "serve") {
    throw new Error(`${role} needs DATABASE_URL: PGlite is one process's alone, which \`serve\` is`);
  }
  const holdsTurnd = values.SERVICE_SANDBOX === "embedded" && role !== "api";
  if (!isPglite && !holdsTurnd) return undefined;
  // The CLIs' user passes through to its workspaces.
  await mkdir(dataDirectory, { recursive: true, mode: 0o711 });
  return holdDataDirectory(join(dataDirectory, "lock"));
}

interface WorkerWiring {
  readonly storage: Storage;
  readonly sandboxes: Sandboxes;
  readonly controls: Controls;
  readonly taskControls: TaskControls;
  readonly finishing: FinishOptions;
  readonly outbound: Outbound;
  readonly keySecret: string;
}

async function startWorkers({ settings, logger, onStep }: ServiceOptions, wiring: WorkerWiring): Promise<void> {
  const { values } = settings;
  const { storage } = wiring;
  const attempts: AttemptOptions = {
    ...wiring,
    logger,
    worker: nameWorker(),
    leaseMs: values.SERVICE_LEASE_MS,
    executorLostMs: values.SERVICE_EXECUTOR_LOST_MS,
    onStep,
  };
  await storage.jobs.work("run", runConcurrency(settings), (id, signal) => attemptRun(attempts, id, signal));
  const attemptTask = createTaskWorker({ storage, kinds: TASK_KINDS, controls: wiring.taskControls, logger });
  await storage.jobs.work("task", values.SERVICE_TASK_CONCURRENCY, attemptTask);
  await storage.jobs.work("webhook", WEBHOOKS_AT_ONCE, (id, signal) => deliver({ ...wiring, logger }, id, signal));
  await storage.jobs.work("sweep", 1, async () => {
    await deleteExpiredEvents(storage);
    await deleteExpiredLogins(storage);
    await ensureRunJobs(storage);
    await ensureTaskJobs(storage);
    await ensureDeliveryJobs(storage);
  });
}

interface ApiWiring {
  readonly storage: Storage;
  readonly auth: Auth;
  readonly events: RunEvents;
  readonly finishing: FinishOptions;
  readonly sandboxes: Sandboxes | undefined;
  readonly warnings: readonly string[];
  readonly outbound: Outbound;
  readonly keySecret: string;
  readonly isShuttingDown: () => boolean;
}

async function startApi({ settings, logger, version }: ServiceOptions, wiring: ApiWiring): Promise<FastifyInstance> {
  const { values } = settings;
  const { storage, finishing, sandboxes, isShuttingDown } = wiring;
  const runs = createRuns({ storage, finishing, maxQueued: values.SERVICE_MAX_QUEUED, logger });
  const app = await createApp({
    ...wiring,
    runs,
    calls: createCalls({ runs, events: wiring.events, syncWaitMs: values.SERVICE_SYNC_WAIT_MS }),
    agents: createAgents(storage),
    threads: createThreads(storage),
    tasks: createTasks(storage),
    webhooks: createWebhooks({ ...wiring, most: values.SERVICE_MAX_WEBHOOKS }),
    logger,
    version,
    hosts: values.SERVICE_HOSTS,
    publicUrl: values.SERVICE_PUBLIC_URL,
    corsOrigins: settings.corsOrigins,
    maxBodyBytes: values.SERVICE_MAX_BODY_BYTES,
    maxStreams: values.SERVICE_MAX_STREAMS,
    heartbeatMs: values.SERVICE_SSE_HEARTBEAT_MS,
    streamMaxMs: values.SERVICE_SSE_MAX_MS,
    ratePerCredential: values.SERVICE_RATE_PER_MINUTE,
    ratePerAddress: values.SERVICE_RATE_ANONYMOUS_PER_MINUTE,
    trustedProxies: values.SERVICE_TRUST_PROXY,
    info: () => ({
      capabilities: ["keys", "threads", "runs", "plan_approval", "steer", "tasks", "webhooks"],
      limits: {
        max_body_bytes: values.SERVICE_MAX_BODY_BYTES,
        max_queued: values.SERVICE_MAX_QUEUED,
        max_streams: values.SERVICE_MAX_STREAMS,
      },
      warnings: wiring.warnings,
    }),
    look: () => lookAround(storage, sandboxes, isShuttingDown()),
  });
  await app.listen({ host: values.SERVICE_HOST, port: values.SERVICE_PORT });
  return app;
}

async function lookAround(
  storage: Storage,
  sandboxes: Sandboxes | undefined,
  isShuttingDown: boolean,
): Promise<Check[]> {
  const database = await storage.db
    .selectFrom("instance")
    .select("key")
    .limit(1)
    .execute()
    .then(
      () => ({ name: "database", ok: true }),
      () => ({ name: "database", ok: false, message: "the database does not answer" }),
    );
  return [
    database,
    ...(sandboxes === undefined ? [] : [{ name: "sandbox", ...(await sandboxes.look()) }]),
    ...(isShuttingDown ? [{ name: "running", ok: false, message: "the service is shutting down" }] : []),
  ];
}

/** The superadmin `admin`, where a password file names one and nobody is there yet. */
async function makeAdministrator(
  { accounts }: Auth,
  { adminPassword, values, isLoopback }: Settings,
  logger: Logger,
): Promise<void> {
  if (!(await accounts.isFirstRun())) return;
  if (adminPassword !== undefined) {
    await accounts.initialize(
      { username: "admin", password: adminPassword, init_token: values.SERVICE_INIT_TOKEN },
      null,
    );
    logger.info("the superadmin admin was made with the password of SERVICE_ADMIN_PASSWORD_FILE");
  } else if (!isLoopback && values.SERVICE_INIT_TOKEN === undefined) {
    throw new Error(
      "nobody has initialised this service, and it listens beyond loopback: set SERVICE_INIT_TOKEN or SERVICE_ADMIN_PASSWORD_FILE",
    );
  }
}

/** Each in its turn, whatever the one before it threw; the first fault is told at the end. */
async function inOrder(logger: Logger, steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const faults: unknown[] = [];
  for (const step of steps) {
    await step().catch((error: unknown) => {
      logger.error({ err: error }, "a part did not stop properly");
      faults.push(error);
    });
  }
  if (faults.length > 0) throw new AggregateError(faults, "the service did not stop properly");
}

function describeAddress({ server }: FastifyInstance): string {
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("the server listens on no port");
  return `http://${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}`;
}
