import { createTurndClient } from "../../client/turnd-client.ts";
import { createTerminal, type Environment } from "../../../kit/command-line/terminal.ts";
import { safeText } from "../../../kit/command-line/text.ts";
import { createContext, type CommonOptions, type Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { ClientFailure, explain } from "./failure.ts";
import { chooseTarget } from "./target.ts";

/** The process that a command runs in. */
export interface Process {
  readonly env: Environment["env"];
  /** Ends the process at once. */
  exit(code: number): never;
}

export interface CommandOptions {
  readonly common: CommonOptions;
  /** The exit code when the output has no reader any more. */
  readonly readerGone: ExitCode;
}

/**
 * Runs a client command: finds its turnd, and reports what goes wrong in one line on stderr, with `--json` on stdout too.
 *
 * The first SIGINT or SIGTERM aborts the command's signal; the second ends the process.
 */
export async function runClientCommand(
  { env, exit }: Process,
  { common, readerGone }: CommandOptions,
  command: (context: Context) => Promise<ExitCode>,
): Promise<ExitCode> {
  const stopping = new AbortController();
  let warning = (): string => "";
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (!stopping.signal.aborted)
        return stopping.abort(new ClientFailure("interrupted", "interrupted", EXIT.interrupted));
      if (warning() !== "") process.stderr.write(`\nturnd: warning: ${warning()}\n`);
      return exit(EXIT.interrupted);
    });
  }
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") {
      process.stderr.write(`turnd: the output cannot be written: ${error.message}\n`);
      exit(EXIT.failed);
    }
    if (readerGone !== EXIT.done && warning() !== "") process.stderr.write(`turnd: warning: ${warning()}\n`);
    exit(readerGone);
  });
  // Without stderr there is nowhere to report it.
  process.stderr.on("error", () => undefined);
  const { stdin, stdout, stderr } = process;
  const environment: Environment = { env, stdin, stdout, stderr, signal: stopping.signal };
  const terminal = createTerminal(environment, common);
  let where = { url: "", token: "" as string | undefined };
  try {
    const target = await chooseTarget(env, common);
    where = target;
    if (target.isExposed) {
      terminal.warn(`turnd: ${target.url} gets the token and the prompts unencrypted (--insecure)`);
    }
    const client = createTurndClient({ baseUrl: target.url, token: target.token });
    const warnWhenLeft = (text: () => string): void => {
      warning = text;
    };
    return await command(createContext({ environment, options: common, target, client, warnWhenLeft }));
  } catch (error) {
    const failure = explain(error, where.url, where.token !== undefined);
    terminal.warn(`turnd: ${safeText(failure.message)}`);
    terminal.json({ error: { code: failure.code, message: failure.message } });
    return failure.exitCode;
  } finally {
    // A pipe that stays open and has no reader would keep this process.
    stdin.destroy();
  }
}
