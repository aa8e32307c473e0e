import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Logger } from "pino";
import { defined } from "../../../kit/defined.ts";
import { describeAddress } from "../../../kit/http/address.ts";
import { createFileService } from "../files/create-file-service.ts";
import { createApp } from "../http/app.ts";
import { createBrowserSessions } from "../http/inspector/browser-sessions.ts";
import { createMetrics } from "../http/routes/metrics.ts";
import { toRunAs } from "../process/run-as.ts";
import type { Starter } from "../process/starter/starter.ts";
import type { Lock } from "../storage/lock.ts";
import { startTracing } from "../tracing/start-tracing.ts";
import { startTurnService } from "../turns/create-turn-service.ts";
import { aliasesOf } from "../turns/executors/executor-names.ts";
import { VERSION } from "../version.ts";
import { listenAt } from "./listen.ts";
import { stopWithin } from "./stop.ts";
import { wireTerminal, type WiredTerminal } from "./terminal-wiring.ts";
import type { TurnParts, TurnPartsOptions } from "./turn-parts.ts";
import type { Executors } from "../turns/executors/executors.ts";

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

export interface DaemonOptions extends Omit<TurnPartsOptions, "starter"> {
  /** Called once there is more to do than to start and to answer probes, and maybe again. */
  readonly onWork?: () => void;
}

/** For the connections of clients, where turns or shells took the whole time. */
const LAST_MS = 1_000;

/** What the start has taken; wireDaemon lets it go. */
export interface StartResources {
  /** The state directory's. */
  readonly lock: Lock;
  readonly starter: Starter;
}

/**
 * Wires the rooms and serves.
 *
 * @throws any reason why it cannot serve, as `startDaemon` says
 */
export async function wireDaemon(options: DaemonOptions, unobserved: TurnParts, held: StartResources): Promise<Daemon> {
  const { lock, starter } = held;
  const { settings, logger } = options;
  const { values } = settings;
  const executors = options.configured.map(({ executor }) => executor);
  let terminal: WiredTerminal | undefined;
  let hasTurns = false;
  try {
    const metrics = createMetrics();
    const tracing = await startTracing(settings, VERSION, logger);
    const parts = { ...unobserved, observer: metrics.observer, tracer: tracing.tracer };
    for (const warning of parts.warnings) logger.warn(warning);
    const browserSessions = createBrowserSessions();
    terminal = await wireTerminal({ ...options, parts, browserSessions });
    const { service: shells, site, close: closeTerminal } = terminal;
    if (site !== undefined) logger.info({ url: describeAddress(site) }, "terminal listening");
    const files = createFileService({
      runAs: toRunAs(settings.runAs, options.sandboxDirectory),
      maxFileBytes: values.TURND_MAX_FILE_BYTES,
      maxTransfers: values.TURND_MAX_TRANSFERS,
      stallMs: values.TURND_TRANSFER_STALL_MS,
      maxArchiveEntries: values.TURND_MAX_ARCHIVE_ENTRIES,
      logger,
    });
    hasTurns = true;
    const service = await startTurnService({
      ...parts,
      isInUse: (sessionId) =>
        files.isInUse(sessionId) ||
        shells.list().some(({ session_id: id, exit }) => id === sessionId && exit === undefined),
    });
    let isShuttingDown = false;
    const app = await createApp({
      service,
      executors: executors.map(({ id }) => id),
      executorAliases: aliasesOf(executors),
      terminal: shells,
      browserSessions,
      files,
      maxFileBytes: values.TURND_MAX_FILE_BYTES,
      host: values.TURND_HOST,
      hosts: values.TURND_HOSTS,
      corsOrigins: values.TURND_CORS_ORIGINS,
      logger,
      redact: options.secrets.redact,
      bodies: {
        long: values.TURND_MAX_BODY_BYTES,
        plain: values.TURND_MAX_PLAIN_BODY_BYTES,
        values: values.TURND_MAX_BODY_VALUES,
      },
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
      ...defined({ onWork: options.onWork, token: settings.token }),
    });
    await listenAt(app, {
      host: values.TURND_HOST,
      port: values.TURND_PORT,
      reusePort: values.TURND_REUSE_PORT === "on",
      hostVariable: "TURND_HOST",
      portVariable: "TURND_PORT",
    });
    if (values.TURND_SOCKET !== undefined) await app.connections.openSocket(values.TURND_SOCKET);
    await reportExecutors(parts.executors, logger);
    const url = describeAddress(app);
    const { queued, running } = service.load();
    if (queued + running > 0) options.onWork?.();
    logger.info({ url, pid: process.pid }, "listening");
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
          await starter.stop();
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
    await starter.stop();
    unobserved.index.close();
    // Resumed turns go on as long as this process: a turnd that took the lock now would log them twice. Law: one end.
    if (!hasTurns) await lock.release();
    throw error;
  }
}

/** Most files this process may have open; Node has raised its soft limit to the hard one. */
async function readMaxFiles(): Promise<number> {
  const limits = await readFile("/proc/self/limits", "utf8");
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
}

/**
 * Logs which CLI can run turns, as far as configuration and installation show it, and what to set for the others.
 *
 * Starts no process: what only the CLI or its provider can show is in `GET /v1/executors` and in `turnd doctor`.
 */
async function reportExecutors(executors: Executors, logger: Logger): Promise<void> {
  const runtimes = [...executors.values()];
  const faults = await Promise.all(runtimes.map((runtime) => runtime.findStaticFault()));
  runtimes.forEach(({ executor, cliName }, index) => {
    const fault = faults[index];
    const fields = { executor: executor.id, cli: cliName };
    if (fault === undefined) logger.info(fields, "executor is configured");
    else logger.warn({ ...fields, code: fault.code, reason: fault.message }, "executor cannot run turns");
  });
  if (faults.includes(undefined)) return;
  logger.warn(
    "no executor can run turns yet: there is no provider, or no program, as the reasons above say; " +
      "with `--scripted` turns run without a provider",
  );
}
