import { join } from "node:path";
import { pino, type Logger } from "pino";
import { runDoctor } from "./doctor-command.ts";
import { describeService } from "./openapi-command.ts";
import { createSandboxes } from "./sandbox-wiring.ts";
import { startService, type ProcessRole } from "./service.ts";
import { readSettings, SettingsError, type Settings } from "./settings.ts";
import { migrateDatabase } from "./migrate-command.ts";
import { VERSION } from "./version.ts";

const USAGE = `usage: svc-service serve     the API and the workers in one process (the default)
       svc-service api       the API alone; needs DATABASE_URL
       svc-service worker    workers alone; needs DATABASE_URL
       svc-service migrate   bring the database to this version's schema
       svc-service doctor    look at everything the service needs of this machine
       svc-service openapi   print the description of the API
`;

/** Exit codes: 0 done, 1 a fault that the message names, 2 wrong arguments. */
type ExitCode = 0 | 1 | 2;

/** Starts turnd as `npm start` does: fills in user, home and CLIs. */
const TURND = [process.execPath, join(import.meta.dirname, "../../scripts/start.ts")];

async function main(args: readonly string[]): Promise<ExitCode> {
  const [command = "serve", ...rest] = args;
  if (rest.length > 0) return wrong(`${command} takes no arguments`);
  switch (command) {
    case "serve":
    case "api":
    case "worker":
      return run(command, settings());
    case "migrate":
      await migrateDatabase(settings(), process.stdout);
      return 0;
    case "doctor":
      return (await runDoctor(settings(), process.stdout)) ? 0 : 1;
    case "openapi":
      process.stdout.write(`${JSON.stringify(await describeService(VERSION), null, 2)}\n`);
      return 0;
    default:
      return wrong(`unknown command "${command}"`);
  }
}

function settings(): Settings {
  return readSettings(process.env, process.getuid?.() ?? 0);
}

async function run(role: ProcessRole, read: Settings): Promise<never> {
  const stopped = new Promise<NodeJS.Signals>((resolve) => {
    // For good, not once: a second signal must not cut short what the first one began.
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, resolve);
  });
  const logger = pino({ name: "svc", level: read.values.SERVICE_LOG_LEVEL });
  const sandboxes = createSandboxes({ settings: read, logger, turndCommand: TURND, uid: process.getuid?.() ?? 0 });
  const starting = startService({ settings: read, role, logger, version: VERSION, createSandboxes: sandboxes });
  // A start that is told to stop is stopped when it is done: half a start has nothing that could be stopped in order.
  const service = await starting.catch((error: unknown) => {
    process.stderr.write(`svc: ${describe(error)}\n`);
    process.exit(1);
  });
  logger.info({ signal: await stopped }, "stopping");
  process.exit(await stopWithin(service, read, logger));
}

async function stopWithin(service: { stop(): Promise<void> }, { values }: Settings, logger: Logger): Promise<ExitCode> {
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

function wrong(message: string): ExitCode {
  process.stderr.write(`svc: ${message}\n${USAGE}`);
  return 2;
}

/** Faults that a person can put right, by name: told in a line; anything else is a bug and keeps its stack. */
const EXPECTED = new Set(["SettingsError", "DataDirectoryHeld", "SchemaOutdated"]);

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isExpected = error instanceof SettingsError || EXPECTED.has(error.name) || "syscall" in error;
  return isExpected ? error.message.replaceAll("\n", "\nsvc: ") : (error.stack ?? error.message);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`svc: ${describe(error)}\n`);
  process.exitCode = 1;
}
