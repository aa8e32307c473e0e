import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runCommandLine, type ExitCode, type JsonOption, type ReplayView } from "./commands/command-line.ts";
import { redactLine } from "./event-log/redact-json.ts";
import { createRedactor } from "./event-log/redact.ts";
import { assertExecutors } from "./executors/contract/assert-executors.ts";
import type { Executor } from "./executors/contract/executor.ts";
import { readSettings, SettingsError, type Settings } from "./settings.ts";
import { keepHeapSmall } from "./serve/small-heap.ts";

// A command loads what it runs, where it runs: a replay that loaded the server too would need 30 MB and half a second
// more.

/** What a program that is turnd gives it: `main.ts` does, with the CLIs of the registry. */
export interface Host {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends the process at once. */
  exit(code: number): never;
  /** `sandbox/`: the keeper, the home writer. */
  readonly sandboxDirectory: string;
  /** The CLIs that are driven. Called once, when it is known how much memory the command may take. */
  loadExecutors(): Promise<readonly Executor[]>;
}

/** What a command has. */
interface Program extends Omit<Host, "loadExecutors"> {
  readonly executors: readonly Executor[];
}

/**
 * Runs the command that the arguments name.
 *
 * @returns the exit code; what went wrong has been written on stderr
 */
export async function runTurnd(host: Host): Promise<ExitCode> {
  // Before the command line is read: that loads the CLIs, which takes memory too.
  if (host.args[0] === "replay") keepHeapSmall();
  const { env } = host;
  const executors = await host.loadExecutors();
  const program: Program = { ...host, executors };
  try {
    assertExecutors(executors);
    return await runCommandLine(
      host.args,
      {
        serve: () => serve(program, readSettings(env, self())),
        render: () => render(program, readSettings(env, self())),
        doctor: (options) => doctor(program, options),
        replay: (paths, view) => replay(program, paths, view),
        record: (turnId, directory) => record(program, turnId, directory),
        probe: (named, options) => probe(program, named, options),
      },
      executors.map(({ id }) => id),
    );
  } catch (error) {
    const { secretsOfEnvironment } = await import("./commands/render.ts");
    const redact = createRedactor(secretsOfEnvironment(env, self(), executors));
    process.stderr.write(`turnd: ${redact(describe(error))}\n`);
    return exitCodeOf(error);
  }
}

async function serve(program: Program, settings: Settings): Promise<never> {
  const stopped = new Promise<NodeJS.Signals>((resolve) => {
    // Permanently, not once: a second signal must not interrupt what the first one started.
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, resolve);
  });
  const [{ pino }, { startDaemon }, { secretsOf }, { createSecretBook }] = await Promise.all([
    import("pino"),
    import("./serve/daemon.ts"),
    import("./commands/render.ts"),
    import("./turns/store/secret-book.ts"),
  ]);
  const secrets = createSecretBook(secretsOf(settings, program.executors));
  const { redact } = secrets;
  const logger = pino(
    { name: "turnd", level: settings.values.TURND_LOG_LEVEL },
    { write: (line: string) => void process.stdout.write(redactLine(line, redact)) },
  );
  // The last resort: a request, turn or shell whose error is not handled must not end all the others.
  process.on("unhandledRejection", (error) => logger.error({ err: error }, "unhandled error"));
  const starting = startDaemon({
    settings,
    sandboxDirectory: program.sandboxDirectory,
    executors: program.executors,
    logger,
    secrets,
  });
  const daemon = await Promise.race([starting, stopped.then(() => undefined)]).catch((error: unknown) => {
    process.stderr.write(`turnd: ${redact(describe(error))}\n`);
    // At once: the next start resumes what was resumed already.
    program.exit(exitCodeOf(error));
  });
  // A stop before the start is done: the next start resumes everything.
  if (daemon === undefined) program.exit(0);
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
    program.exit(exitCode);
  }
}

async function render({ executors, sandboxDirectory }: Program, settings: Settings): Promise<ExitCode> {
  const [{ readConfigurations, renderConfigurations }, { assertPlaces }] = await Promise.all([
    import("./commands/render.ts"),
    import("./serve/places.ts"),
  ]);
  assertPlaces(settings, dirname(sandboxDirectory));
  const configured = readConfigurations(settings, executors).filter(({ configuration }) => configuration.isConfigured);
  const faults = configured.flatMap(({ configuration }) => configuration.fault ?? []);
  // A key may come later, with the daemon's own environment; a configuration that the CLI would refuse may not.
  const isLater = (fault: (typeof faults)[number]): boolean => fault.code === "credential_missing";
  const refused = faults.filter((fault) => !isLater(fault));
  if (refused.length > 0) throw new SettingsError(refused.map((fault) => fault.message));
  const warnings = configured.flatMap(({ configuration }) => configuration.warnings);
  for (const warning of [...warnings, ...faults.filter(isLater).map((fault) => fault.message)]) {
    process.stderr.write(`turnd: warning: ${warning}\n`);
  }
  const home = settings.values.TURND_HOME;
  const homeWriter = await readFile(join(sandboxDirectory, "write-home"), "utf8");
  const files = await renderConfigurations(configured, { home, runAs: settings.runAs, homeWriter });
  if (files.length === 0) {
    const prefixes = executors.map(({ variablePrefix }) => `${variablePrefix}_*`).join(" or ");
    process.stderr.write(`turnd: nothing to render: no ${prefixes} variable is set\n`);
  }
  for (const file of files) process.stdout.write(`${join(home, file)}\n`);
  return 0;
}

async function doctor({ env, executors, sandboxDirectory }: Program, { isJson }: JsonOption): Promise<ExitCode> {
  const [{ runDoctor }, { secretsOfEnvironment }] = await Promise.all([
    import("./commands/doctor.ts"),
    import("./commands/render.ts"),
  ]);
  return untilStopped((signal) =>
    runDoctor({
      readSettings: () => readSettings(env, self()),
      executors,
      sandboxDirectory,
      redact: createRedactor(secretsOfEnvironment(env, self(), executors)),
      isJson,
      out: process.stdout,
      signal,
    }),
  );
}

async function replay({ env, executors }: Program, paths: readonly string[], show: ReplayView): Promise<ExitCode> {
  const [{ isReaderGone, printReplays }, { secretsOfEnvironment }] = await Promise.all([
    import("./commands/replay.ts"),
    import("./commands/render.ts"),
  ]);
  const redact = createRedactor(secretsOfEnvironment(env, self(), executors));
  // The write that fails gets the error too, and handles it.
  process.stdout.on("error", () => undefined);
  try {
    return await printReplays(paths, {
      stdin: process.stdin,
      show,
      redact,
      executors,
      out: process.stdout,
      err: process.stderr,
    });
  } catch (error) {
    if (isReaderGone(error)) return 0;
    throw error;
  }
}

async function record({ env, executors }: Program, turnId: string, directory: string): Promise<ExitCode> {
  const [{ recordTurn }, { keysOf, secretsOf }] = await Promise.all([
    import("./commands/record.ts"),
    import("./commands/render.ts"),
  ]);
  const settings = readSettings(env, self());
  if (keysOf(settings, executors).length === 0) {
    process.stderr.write(
      "turnd: warning: no key and no token is set here, so none can be taken out of the recording\n",
    );
  }
  const stateDirectory = settings.values.TURND_STATE_DIR;
  await recordTurn(turnId, directory, { stateDirectory, redact: createRedactor(secretsOf(settings, executors)) });
  process.stdout.write(`${directory}\n`);
  return 0;
}

async function probe(
  { env, executors, sandboxDirectory }: Program,
  named: readonly string[],
  { isJson }: JsonOption,
): Promise<ExitCode> {
  const { printProbe } = await import("./commands/probe.ts");
  const probed = executors.filter(({ id }) => named.length === 0 || named.includes(id));
  return untilStopped((signal) =>
    printProbe(probed, {
      env,
      self: self(),
      executors,
      sandboxDirectory,
      isJson,
      out: process.stdout,
      err: process.stderr,
      signal,
    }),
  );
}

/** Runs a command that starts processes: a signal ends them, and then turnd. */
async function untilStopped(run: (signal: AbortSignal) => Promise<ExitCode>): Promise<ExitCode> {
  const stopping = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stopping.abort(new Error(signal)));
  try {
    return await run(stopping.signal);
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
    process.stderr.write("turnd: stopped; nothing was left behind\n");
    return 1;
  }
}

function self(): { uid: number; gid: number } {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

/** Errors that a person can fix, by name: only the command that throws one has loaded its class. */
const EXPECTED = new Set(["SettingsError", "LockedError", "HomeError", "RecordingError"]);

function exitCodeOf(error: unknown): ExitCode {
  return error instanceof Error && error.name === "HomeError" ? 3 : 1;
}

/** An error that a person can fix is reported in one line; any other is a bug and keeps its stack. */
function describe(error: unknown): string {
  const isExpected = error instanceof Error && (EXPECTED.has(error.name) || "syscall" in error);
  if (isExpected) return error.message.replaceAll("\n", "\nturnd: ");
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
