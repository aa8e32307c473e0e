import { createRedactor } from "../../daemon/event-log/redact.ts";
import type { CommandLine } from "../definition.ts";
import { loadExecutors, self, warnOfUnknownVariables, type ExitCode, type Host } from "../host.ts";
import { untilReadOrStopped } from "./stop-reading.ts";

/** `turnd pack` and `turnd unpack`. */
export function addPack({ program, perform }: CommandLine): void {
  program
    .command("pack")
    .description("write a recording directory as one document, secrets of this environment taken out")
    .argument("<directory>")
    .argument("[document]", "a new file, gzipped where its name ends in .gz; - for standard output", "-")
    .action((directory: string, document: string) => perform((host) => pack(host, directory, document)));
  program
    .command("unpack")
    .description("write a document as a recording directory")
    .argument("<document>", "gzipped or not; - for standard input")
    .argument("<directory>", "new or empty")
    .action((document: string, directory: string) => perform((host) => unpack(host, document, directory)));
}

async function pack(host: Host, directory: string, document: string): Promise<ExitCode> {
  const executors = await loadExecutors(host);
  warnOfUnknownVariables(host, executors);
  const [{ packRecording }, { secretsOfEnvironment }] = await Promise.all([
    import("../pack.ts"),
    import("../../daemon/serve/configurations.ts"),
  ]);
  const redact = createRedactor(secretsOfEnvironment(host.env, self(), executors));
  return untilReadOrStopped(host, async (signal) => {
    await packRecording(directory, document, { redact, out: process.stdout, signal });
    if (document !== "-") process.stdout.write(`${document}\n`);
    return 0;
  });
}

async function unpack(host: Host, document: string, directory: string): Promise<ExitCode> {
  const { unpackRecording } = await import("../pack.ts");
  return untilReadOrStopped(host, async (signal) => {
    await unpackRecording(document, directory, { stdin: process.stdin, signal });
    process.stdout.write(`${directory}\n`);
    return 0;
  });
}
