import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pino, type DestinationStream, type Logger } from "pino";
import { createSandboxes } from "../serve/sandbox-wiring.ts";
import { addProcessMetrics, createMetrics } from "../http/metrics.ts";
import { startService, type Service } from "../service.ts";
import type { ProcessRole } from "../serve/service-options.ts";
import { SettingsError } from "../settings/file.ts";
import type { Settings } from "../settings/settings.ts";
import { VERSION } from "../version.ts";

const LAST_ANSWERS_MS = 1_000;

/** Starts turnd as `npm start` does: fills in user, home and CLIs. */
const TURND = [process.execPath, join(import.meta.dirname, "../../../scripts/start.mjs")];

/**
 * Runs a service until it has to stop. Resolves with the process's exit code, and the caller ends the process by it:
 * what did not stop in time would keep it alive. Rejects where the service cannot start.
 */
export async function runService(
  role: ProcessRole,
  read: Settings,
  onListening: (service: Service) => void = () => undefined,
): Promise<0 | 1> {
  const stopped = Promise.withResolvers<NodeJS.Signals | Error>();
  // For good, not once: a second signal must not cut short what the first one began.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, stopped.resolve);
  const logger = createLogger(read.values.SERVICE_LOG_LEVEL);
  const uid = process.getuid?.() ?? 0;
  const sandboxes = await createSandboxes({ settings: read, logger, turndCommand: TURND, uid });
  const metrics = createMetrics();
  addProcessMetrics(metrics);
  // A signal during the start takes effect when the start is done: half a start has nothing that could be stopped in order.
  const service = await startService({
    settings: read,
    role,
    logger,
    version: VERSION,
    createSandboxes: sandboxes,
    metrics,
    onDatabaseEnded: stopped.resolve,
  });
  onListening(service);
  const reason = await stopped.promise;
  if (reason instanceof Error) {
    logger.fatal(
      { err: reason },
      "the database has ended: make room where its directory is, and start the service again",
    );
    // For the answers that say so. Nothing can be stopped in order without a database; the next start goes on as after a crash.
    await delay(LAST_ANSWERS_MS);
    return 1;
  }
  logger.info({ signal: reason }, "stopping");
  return stopWithin(service, read, logger);
}

/**
 * The log of the service.
 *
 * @param destination - absent: standard output
 */
export function createLogger(level: string, destination: DestinationStream = pino.destination(1)): Logger {
  // What users have sent: PGlite's errors have the values of the query that failed.
  return pino({ name: "svc", level, redact: { paths: ["err.params"], remove: true } }, destination);
}

async function stopWithin(service: Service, { values }: Settings, logger: Logger): Promise<0 | 1> {
  const late = Promise.withResolvers<"late">();
  // The bound, and a second for the database.
  const timer = setTimeout(() => late.resolve("late"), values.SERVICE_SHUTDOWN_MS + 1_000);
  try {
    const outcome = await Promise.race([service.stop().then(() => "stopped" as const), late.promise]);
    if (outcome === "late") logger.error("not stopped in time");
    else logger.info("stopped");
    return outcome === "late" ? 1 : 0;
  } catch (error) {
    logger.error({ err: error }, "stop failed");
    return 1;
  } finally {
    clearTimeout(timer);
  }
}

/** Faults that a person can put right, by name. */
const EXPECTED = new Set([
  "SettingsError",
  "DataDirectoryExposed",
  "DataDirectoryHeld",
  "DataDirectoryUnusable",
  "SchemaOutdated",
  "SchemaNewer",
  "PgliteUnusable",
  "ResetRefused",
  "ApiProblem",
]);

/** What kept the service from starting: a line for what a person can put right; a bug keeps its stack. */
export function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && error.code === "EADDRINUSE")
    return `${error.message}: stop what listens there, or set SERVICE_PORT`;
  const isExpected = error instanceof SettingsError || EXPECTED.has(error.name) || "syscall" in error;
  return isExpected ? error.message.replaceAll("\n", "\nsvc-service: ") : (error.stack ?? error.message);
}
