import { runCommandLine } from "./commands/command-line.ts";
import { describeError, exitCodeOf, self, type ExitCode, type Host } from "./commands/host.ts";
import { createRedactor } from "./daemon/event-log/redact.ts";

/**
 * Runs the command that the arguments name.
 *
 * @returns the exit code; what went wrong has been written on stderr
 */
export async function runTurnd(host: Host): Promise<ExitCode> {
  try {
    return await runCommandLine(host);
  } catch (error) {
    const { secretsOfEnvironment } = await import("./daemon/serve/configurations.ts");
    const redact = createRedactor(secretsOfEnvironment(host.env, self(), await host.loadExecutors()));
    process.stderr.write(`turnd: ${redact(describeError(error))}\n`);
    return exitCodeOf(error);
  }
}
