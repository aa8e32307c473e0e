import { Option } from "commander";
import { createRedactor } from "../../event-log/redact.ts";
import { keepHeapSmall } from "../../serve/small-heap.ts";
import type { CommandLine } from "../command-line.ts";
import { loadExecutors, self, type ExitCode, type Host } from "../host.ts";

/** What is printed of a recording. */
type View = "events" | "summary" | "decision";

interface ReplayOptions {
  readonly summary?: boolean;
  readonly explain?: boolean;
}

/** `turnd replay`. */
export function addReplay({ program, perform }: CommandLine): void {
  program
    .command("replay")
    .description("print the events of recordings as JSON lines")
    .argument("<recording...>", "directories or exported documents, gzipped or not, or - for one on standard input")
    .addOption(new Option("--summary", "print one line per recording instead").conflicts("explain"))
    .option("--explain", "print how the end of each was decided instead")
    .action((paths: string[], { summary, explain }: ReplayOptions) =>
      perform((host) => replay(host, paths, summary === true ? "summary" : explain === true ? "decision" : "events")),
    );
}

async function replay(host: Host, paths: readonly string[], show: View): Promise<ExitCode> {
  // Before anything is loaded that takes memory.
  keepHeapSmall();
  const executors = await loadExecutors(host);
  const [{ isReaderGone, printReplays }, { secretsOfEnvironment }] = await Promise.all([
    import("../replay.ts"),
    import("../render.ts"),
  ]);
  const redact = createRedactor(secretsOfEnvironment(host.env, self(), executors));
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
