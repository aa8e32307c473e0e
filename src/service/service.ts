import { join } from "node:path";
import type { Logger } from "pino";
import { makeAdministrator } from "./serve/administrator.ts";
import { createToolServers } from "./agent-tools/agent-tools.ts";
import { putAgents, readAgentsFile } from "./agents/seed.ts";
import { createAuth } from "./auth/auth.ts";
import { createMetrics } from "./http/metrics.ts";
import { announceWorker } from "./serve/readiness.ts";
import { nameWorker } from "./runs/work/attempt.ts";
import { cancelAllOf } from "./runs/state/cancel.ts";
import { createControls } from "./runs/control/controls.ts";
import { wireKnowledge } from "./serve/knowledge-wiring.ts";
import { createOutbound } from "./outbound/outbound.ts";
import { createRunEvents } from "./runs/read/events.ts";
import type { FinishOptions } from "./runs/state/finish.ts";
import { checkSecrets, readSecrets } from "./serve/secrets.ts";
import { warnOfSharing } from "./serve/sandbox-sharing.ts";
import type { Settings } from "./settings/settings.ts";
import { findExposed, protectDataDirectory } from "./storage/data-directory.ts";
import { holdDataDirectory, type Lock } from "./storage/lock.ts";
import { openStorage } from "./storage/storage.ts";
import { createTaskControls } from "./tasks/task-controls.ts";
import { startApi, startWorkerHttp, type HttpWiring } from "./serve/start-api.ts";
import { describeAddress } from "../kit/http/address.ts";
import { describeIgnoredSwitch } from "../kit/command-line/checked-certificates.ts";
import { describeUnknownSettings } from "./settings/unknown.ts";
import { startWorkers } from "./serve/start-workers.ts";
import { createToolsAddress } from "./serve/tools-address.ts";
import { noteEnd } from "./webhooks/note-end.ts";
import type { ProcessRole } from "./serve/service-options.ts";
import type { ServiceOptions } from "./serve/service-options.ts";

/** A service that runs. */
export interface Service {
  /** Where it answers; undefined for a worker without SERVICE_METRICS_PORT. */
  readonly url: string | undefined;
  /** Whether this start has made the administrator, with the password of SERVICE_ADMIN_PASSWORD_FILE. */
  readonly hasMadeAdministrator: boolean;
  /** Settles within `SERVICE_SHUTDOWN_MS` and a little. Safe to call twice. */
  stop(): Promise<void>;
}

const SWEEP_MS = 30_000;

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
  const lock = await holdWhatIsNeeded(settings, role, logger);
  closers.push(async () => lock?.release());
  const storage = await openStorage({
    engine:
      values.DATABASE_URL === undefined
        ? { kind: "pglite", directory: join(dataDirectory, "pglite") }
        : { kind: "postgres", url: values.DATABASE_URL, poolSize: values.SERVICE_DB_POOL },
    logger,
    isMigrating: values.SERVICE_MIGRATE,
    leaseMs: values.SERVICE_LEASE_MS,
    onDatabaseEnded: options.onDatabaseEnded,
  });
  closers.push(() => storage.close());
  const secrets = await readSecrets(settings, dataDirectory);
  const warnings = await checkSecrets(storage, secrets);
  const sharing = await warnOfSharing(storage, settings);
  const allWarnings = [
    ...warnings,
    ...describeUnknownSettings(settings.env),
    ...describeIgnoredSwitch(settings.env),
    ...(sharing === undefined ? [] : [sharing]),
  ];
  for (const warning of allWarnings) logger.warn(warning);
  const metrics = options.metrics ?? createMetrics();
  const finishing: FinishOptions = {
    storage,
    eventsRetentionMs: values.SERVICE_EVENTS_RETENTION_MS,
    onRunEnded: (trx, run) => noteEnd(storage, trx, run),
    observer: metrics.observer,
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
      perNameInDay: values.SERVICE_LOGIN_FAILURES_NAME,
    },
    initToken: values.SERVICE_INIT_TOKEN,
    onUserStopped: (trx, userId) => cancelAllOf(finishing, trx, userId),
  });
  const hasMadeAdministrator = await makeAdministrator(auth, settings, logger);
  await putAgents(storage, await readAgentsFile(values.SERVICE_AGENTS_FILE));
  const events = await createRunEvents(storage);
  closers.push(() => events.close());
  const controls = await createControls(storage, logger);
  closers.push(() => controls.close());
  const taskControls = await createTaskControls(storage, logger);
  closers.push(() => taskControls.close());

  let isShuttingDown = false;
  const sandboxes = role === "api" ? undefined : await options.createSandboxes({ storage, secrets });
  closers.push(async () => sandboxes?.close());
  const knowledge = await wireKnowledge({ settings, storage, logger, outbound, onStep: options.onKnowledgeStep });
  closers.push(() => knowledge.close());
  const worker = nameWorker();
  const address = createToolsAddress(settings, role);
  let withdrawWorker = async (): Promise<void> => undefined;
  if (sandboxes !== undefined) {
    await startWorkers(options, {
      worker,
      metrics,
      storage,
      knowledge,
      sandboxes,
      controls,
      taskControls,
      finishing,
      outbound,
      keySecret: secrets.key,
      toolServers: createToolServers({ keySecret: secrets.key, baseUrl: address.url }),
    });
    withdrawWorker = await announceWorker({ storage, leaseMs: values.SERVICE_LEASE_MS, logger }, worker, sandboxes);
    closers.push(withdrawWorker);
  }
  const wiring: HttpWiring = { storage, knowledge, sandboxes, metrics, warnings, isShuttingDown: () => isShuttingDown };
  const app =
    role === "worker"
      ? await startWorkerHttp(options, wiring)
      : await startApi(options, { ...wiring, auth, events, finishing, outbound, keySecret: secrets.key });
  address.listens(app === undefined ? undefined : describeAddress(app));
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
      withdrawWorker,
      // Its turns end as `daemon_stopped`, and that is written before the attempts are stopped.
      async () => sandboxes?.close(),
      () => storage.jobs.stop(values.SERVICE_SHUTDOWN_MS / 2),
      () => knowledge.close(),
      () => controls.close(),
      () => taskControls.close(),
      () => events.close(),
      () => storage.close(),
      async () => lock?.release(),
    ]);
  }
  const url = app === undefined ? undefined : describeAddress(app);
  logger.info({ url, role, engine: storage.engine, pid: process.pid }, "listening");
  return { url, hasMadeAdministrator, stop: () => (stopping ??= stop()) };
}

/** Only one process has PGlite, or a turnd in the data directory. */
async function holdWhatIsNeeded(
  { values, dataDirectory }: Settings,
  role: ProcessRole,
  logger: Logger,
): Promise<Lock | undefined> {
  const isPglite = values.DATABASE_URL === undefined;
  // Documents that are parsed, objects and secrets lie in it with PostgreSQL too.
  await closeDataDirectory(dataDirectory, logger);
  if (isPglite && role !== "serve") {
    throw new Error(`${role} needs DATABASE_URL: only one process may open PGlite, which \`serve\` is`);
  }
  const holdsTurnd = values.SERVICE_SANDBOX === "embedded" && role !== "api";
  if (!isPglite && !holdsTurnd) return undefined;
  return holdDataDirectory(join(dataDirectory, "lock"));
}

/** No other user, the CLIs' among them, reaches what is the service's. */
async function closeDataDirectory(directory: string, logger: Logger): Promise<void> {
  for (const { path, entries } of await protectDataDirectory(directory)) {
    logger.warn(
      { path, entries },
      "other users of this machine could reach this until now: renew the secrets and passwords that it held",
    );
  }
  for (const path of await findExposed(directory)) {
    logger.warn({ path }, "other users of this machine can reach this, which the service did not make");
  }
}

/** Each in its turn, whatever the one before it threw; all faults are thrown at the end. */
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
