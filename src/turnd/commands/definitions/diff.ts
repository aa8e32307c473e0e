import { takesColors } from "../../../kit/command-line/colors.ts";
import { createRedactor } from "../../daemon/event-log/redact.ts";
import type { CommandLine } from "../definition.ts";
import { describeError, loadExecutors, self, warnOfUnknownVariables, type ExitCode, type Host } from "../host.ts";
import { addOutputOptions, describeUnknownExecutor, type OutputOptions } from "./output-options.ts";
import { untilReadOrStopped } from "./stop-reading.ts";

interface DiffOptions extends OutputOptions {
  readonly json?: boolean;
  readonly strict?: boolean;
}

/** As of diff(1). */
const TROUBLE = 2;

/** `turnd diff`. */
export function addDiff({ program, perform }: CommandLine): void {
  const command = program
    .command("diff")
    .description("compare the events of two recordings, but for their times and ids")
    .argument("<a>", "a recording directory, document, file of stdout, or - for standard input")
    .argument("<b>")
    .option("--strict", "compare times, ids and line numbers too")
    .option("--json", "print the differences as one JSON document")
    .addHelpText("after", "\nExit codes: 0 the same, 1 they differ, 2 trouble.");
  addOutputOptions(command).action((a: string, b: string, options: DiffOptions) =>
    perform((host) => diff(host, a, b, options)),
  );
}

async function diff(host: Host, a: string, b: string, options: DiffOptions): Promise<ExitCode> {
  const executors = await loadExecutors(host);
  const unknown = describeUnknownExecutor([options.executor], executors);
  if (unknown !== undefined) {
    process.stderr.write(`turnd: ${unknown}\n`);
    return TROUBLE;
  }
  warnOfUnknownVariables(host, executors);
  const [{ printDiff }, { secretsOfEnvironment }] = await Promise.all([
    import("../diff.ts"),
    import("../../daemon/serve/configurations.ts"),
  ]);
  const redact = createRedactor(secretsOfEnvironment(host.env, self(), executors));
  return untilReadOrStopped(
    host,
    (signal) =>
      printDiff(a, b, {
        executors,
        redact,
        stdin: process.stdin,
        out: process.stdout,
        executor: options.executor,
        exit: options.exit,
        isJson: options.json === true,
        isStrict: options.strict === true,
        hasColors: takesColors(process.stdout, host.env),
        signal,
      }).catch((error: unknown) => {
        if (signal.aborted) throw error;
        process.stderr.write(`turnd: ${redact(describeError(error))}\n`);
        return TROUBLE;
      }),
    TROUBLE,
  );
}
