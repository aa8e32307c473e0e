import { Option } from "commander";
import { createRedactor } from "../../daemon/event-log/redact.ts";
import { keepHeapSmall } from "../../daemon/serve/small-heap.ts";
import type { CommandLine } from "../definition.ts";
import { loadExecutors, self, warnOfUnknownVariables, type ExitCode, type Host } from "../host.ts";
import { addOutputOptions, describeUnknownExecutor, type OutputOptions } from "./output-options.ts";
import { untilReadOrStopped } from "./stop-reading.ts";

interface ReplayOptions extends OutputOptions {
  readonly summary?: boolean;
  readonly explain?: boolean;
  readonly rules?: boolean;
  readonly json?: boolean;
}

/** `turnd replay`. */
export function addReplay({ program, perform }: CommandLine): void {
  const command = program
    .command("replay")
    .description("print the events of recordings as JSON lines")
    .argument(
      "<recording...>",
      "recording directories, or ones to be searched for recordings; files with an exported document, the stdout of a " +
        "CLI, or a tar or zip archive of these, gzipped or not; - for such a file on standard input",
    )
    .addOption(new Option("--summary", "print one line per recording instead").conflicts("explain"))
    .option("--explain", "print how the end of each was decided instead")
    .addOption(new Option("--rules", "explain with every rule that was tried").implies({ explain: true }))
    .option("--json", "print a summary or explanations as one JSON document");
  addOutputOptions(command).action((names: string[], options: ReplayOptions) =>
    perform((host) => replay(host, names, options)),
  );
}

async function replay(host: Host, names: readonly string[], options: ReplayOptions): Promise<ExitCode> {
  // Before anything is loaded that takes memory.
  keepHeapSmall();
  const executors = await loadExecutors(host);
  const unknown = describeUnknownExecutor([options.executor], executors);
  if (unknown !== undefined) {
    process.stderr.write(`turnd: ${unknown}\n`);
    return 2;
  }
  warnOfUnknownVariables(host, executors);
  const [{ printReplays }, { secretsOfEnvironment }] = await Promise.all([
    import("../replay.ts"),
    import("../../daemon/serve/configurations.ts"),
  ]);
  const redact = createRedactor(secretsOfEnvironment(host.env, self(), executors));
  return untilReadOrStopped(host, (signal) =>
    printReplays(names, {
      stdin: process.stdin,
      show: options.summary === true ? "summary" : options.explain === true ? "decision" : "events",
      isJson: options.json === true,
      hasRules: options.rules === true,
      executor: options.executor,
      exit: options.exit,
      redact,
      executors,
      out: process.stdout,
      err: process.stderr,
      signal,
    }),
  );
}
