import { redactLine } from "../../event-log/redact-json.ts";
import { readSettings } from "../../settings.ts";
import type { CommandLine } from "../command-line.ts";
import { describeError, exitCodeOf, loadExecutors, self, type ExitCode, type Host } from "../host.ts";

/** `turnd serve`. */
export function addServe({ program, settingsHint, perform }: CommandLine): void {
  program
    .command("serve")
    .description("serve /v1; what turnd does without a command")
    .addHelpText("after", settingsHint)
    .action(() => perform(serve));
}

async function serve(host: Host): Promise<never> {
  const executors = await loadExecutors(host);
  const settings = readSettings(host.env, self());
  const stopped = new Promise<NodeJS.Signals>((resolve) => {
    // Permanently, not once: a second signal must not interrupt what the first one started.
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, resolve);
  });
  const [{ pino }, { startDaemon }, { secretsOf }, { createSecretBook }] = await Promise.all([
    import("pino"),
    import("../../serve/daemon.ts"),
    import("../render.ts"),
    import("../../turns/store/secret-book.ts"),
  ]);
  const secrets = createSecretBook(secretsOf(settings, executors));
  const { redact } = secrets;
  const logger = pino(
    { name: "turnd", level: settings.values.TURND_LOG_LEVEL },
    { write: (line: string) => void process.stdout.write(redactLine(line, redact)) },
  );
  // The last resort: a request, turn or shell whose error is not handled must not end all the others.
  process.on("unhandledRejection", (error) => logger.error({ err: error }, "unhandled error"));
  const starting = startDaemon({ settings, sandboxDirectory: host.sandboxDirectory, executors, logger, secrets });
  const daemon = await Promise.race([starting, stopped.then(() => undefined)]).catch((error: unknown) => {
    process.stderr.write(`turnd: ${redact(describeError(error))}\n`);
    // At once: the next start resumes what was resumed already.
    host.exit(exitCodeOf(error));
  });
  // A stop before the start is done: the next start resumes everything.
  if (daemon === undefined) host.exit(0);
  const signal = await stopped;
  logger.info({ signal }, "stopping");
  let exitCode: ExitCode = 1;
  try {
    await daemon.stop();
    logger.info("stopped");
    exitCode = 0;
  } catch (error) {
    logger.error({ err: error }, "stop failed");
  } finally {
    // Work that did not end in time must not keep this process alive.
    host.exit(exitCode);
  }
}
