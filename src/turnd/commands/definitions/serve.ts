import { takesColors } from "../../../kit/command-line/colors.ts";
import { redactLine } from "../../daemon/event-log/redact-json.ts";
import type { Executor } from "../../daemon/executors/contract/executor.ts";
import { readSettings, type Settings } from "../../daemon/settings.ts";
import type { CommandLine } from "../definition.ts";
import type { ScriptedProvider } from "../scripted-provider.ts";
import { describeUselessVariables } from "../unknown-variables.ts";
import { describeError, exitCodeOf, loadExecutors, self, type ExitCode, type Host } from "../host.ts";

/** `turnd serve`. */
export function addServe({ program, settingsHint, perform }: CommandLine): void {
  program
    .command("serve")
    .description("serve /v1; what turnd does without a command")
    .option("--scripted", "let a scripted model, which is no language model, answer every turn: no key is needed")
    .addHelpText("after", settingsHint)
    .action(({ scripted = false }: { scripted?: boolean }) => perform((host) => serve(host, scripted)));
}

async function serve(host: Host, isScripted: boolean): Promise<never> {
  // No other user reads what a library writes without a mode of its own. Each mode that the CLIs' user needs is given.
  process.umask(0o077);
  const executors = await loadExecutors(host);
  const provider = isScripted ? await startScripted(host, executors) : undefined;
  const settings = readSettings(provider?.env ?? host.env, self());
  const stopped = new Promise<NodeJS.Signals>((resolve) => {
    // Permanently, not once: a second signal must not interrupt what the first one started.
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, resolve);
  });
  const [{ default: pino }, { startDaemon }, { readConfigurations, secretsOf }, { createSecretBook }] =
    await Promise.all([
      import("pino"),
      import("../../daemon/serve/daemon.ts"),
      import("../../daemon/serve/configurations.ts"),
      import("../../daemon/turns/store/secret-book.ts"),
    ]);
  const configured = readConfigurations(settings, executors);
  const secrets = createSecretBook(secretsOf(settings, configured));
  const { redact } = secrets;
  const show = await chooseForm(settings);
  const logger = pino(
    { name: "turnd", level: settings.values.TURND_LOG_LEVEL },
    { write: (line: string) => void process.stdout.write(show(redactLine(line, redact))) },
  );
  if (host.whyNoCompiledCode !== undefined) logger.debug({ reason: host.whyNoCompiledCode }, "no compiled code");
  for (const warning of describeUselessVariables(host.env, executors)) logger.warn(warning);
  if (provider !== undefined) {
    logger.warn({ url: provider.url }, "a scripted model, which is no language model, answers every turn");
  }
  // The last resort: a request, turn or shell whose error is not handled must not end all the others.
  process.on("unhandledRejection", (error) => logger.error({ err: error }, "unhandled error"));
  const starting = startDaemon({
    settings,
    sandboxDirectory: host.sandboxDirectory,
    configured,
    logger,
    secrets,
    ...(host.onWork === undefined ? {} : { onWork: host.onWork }),
  });
  const daemon = await Promise.race([starting, stopped.then(() => undefined)]).catch((error: unknown) => {
    process.stderr.write(`turnd: ${redact(describeError(error))}\n`);
    // At once: the next start resumes what was resumed already.
    host.exit(exitCodeOf(error));
  });
  // A stop before the start is done: the next start resumes everything.
  if (daemon === undefined) host.exit(0);
  host.onListening?.(daemon.url);
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

async function startScripted(host: Host, executors: readonly Executor[]): Promise<ScriptedProvider> {
  const { startScriptedProvider } = await import("../scripted-provider.ts");
  // Whatever is wrong with the settings is reported before anything is made.
  const { values } = readSettings(host.env, self());
  return startScriptedProvider(host.env, executors, values.TURND_STATE_DIR);
}

/** How the log is written: for a person at a terminal, and otherwise as JSON. */
async function chooseForm({ values, env }: Settings): Promise<(line: string) => string> {
  const { TURND_LOG_FORMAT: format } = values;
  if (format === "json" || (format === "auto" && !process.stdout.isTTY)) return (line) => line;
  const { createReadableLog } = await import("../readable-log.ts");
  return createReadableLog(takesColors(process.stdout, env));
}
