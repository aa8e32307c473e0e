import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CommanderError } from "commander";
import { createContext } from "./context.ts";
import { EXIT, SvcError, usageError, type ExitCode } from "./exit-codes.ts";
import { createProgram } from "./program.ts";
import { createTerminal, type Environment } from "../../kit/command-line/terminal.ts";
import { safeLine } from "../../kit/command-line/text.ts";

/** Runs one command line. @returns what the process ends with */
export async function run(args: readonly string[], environment: Environment): Promise<ExitCode> {
  const { stdout, stderr } = environment;
  let code: ExitCode = EXIT.done;
  const program = createProgram({
    version: readVersion(),
    createContext: (options) => createContext(environment, options),
    write: (text) => void stdout.write(text),
    writeError: (text) => void stderr.write(text),
    onEnd: (ended) => {
      code = ended;
    },
    columns: stdout.columns ?? 80,
  });
  try {
    const [first, position = "", ...words] = args;
    // Asked by the shell's completion: the words are a line that is being typed, and no arguments.
    if (first === "__complete") {
      const { complete } = await import("./completion.ts");
      const context = createContext(environment, { quiet: true });
      stdout.write(await complete(program, context, { position: Number(position), words }));
      return EXIT.done;
    }
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    // A command that has commands of its own, without one of them: its manual was shown.
    if (error instanceof CommanderError && error.code === "commander.help") return EXIT.usage;
    return report(explain(error, environment.signal), args, environment);
  }
}

function explain(error: unknown, signal: AbortSignal): SvcError {
  if (error instanceof SvcError) return error;
  if (signal.aborted) return new SvcError("interrupted", "interrupted", { exitCode: EXIT.interrupted, cause: error });
  if (error instanceof CommanderError) return usageError(error.message.replace(/^error: /, "").replaceAll("\n", " "));
  if (error instanceof Error && "syscall" in error)
    return new SvcError("system_error", error.message, { cause: error });
  throw error;
}

/** One line on stderr, and with `--json` a document on stdout. */
function report(error: SvcError, args: readonly string[], environment: Environment): ExitCode {
  const { code, message, status, exitCode } = error;
  const terminal = createTerminal(environment, { json: args.includes("--json") });
  terminal.warn(message === code ? `svc: ${safeLine(message)}` : `svc: ${safeLine(message)} (${safeLine(code)})`);
  terminal.json({ error: { code, message, status } });
  return exitCode;
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, "../../../package.json"), "utf8"));
  const isManifest = typeof manifest === "object" && manifest !== null && "version" in manifest;
  return isManifest ? String(manifest.version) : "unknown";
}
