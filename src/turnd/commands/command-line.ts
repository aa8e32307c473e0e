import { createServerProgram } from "../../kit/command-line/server-program.ts";
import { VERSION } from "../daemon/version.ts";
import { addClientCommands } from "./definitions/client.ts";
import { addCompletion, printCompletion } from "./definitions/completion.ts";
import { addDoctor } from "./definitions/doctor.ts";
import { addDiff } from "./definitions/diff.ts";
import { addPack } from "./definitions/pack.ts";
import { addProbe } from "./definitions/probe.ts";
import { addRecord } from "./definitions/record.ts";
import { addRender } from "./definitions/render.ts";
import { addReplay } from "./definitions/replay.ts";
import { addServe } from "./definitions/serve.ts";
import type { ExitCode, Host } from "./host.ts";
import type { CommandLine } from "./definition.ts";
import type { Work } from "./definition.ts";

/** In the order in which the help lists them; a file each. */
const DEFINITIONS: readonly ((line: CommandLine) => void)[] = [
  addServe,
  addClientCommands,
  addRender,
  addDoctor,
  addReplay,
  addDiff,
  addPack,
  addRecord,
  addProbe,
  addCompletion,
];

/**
 * Runs the command that the arguments name, `serve` where there are none.
 *
 * Help and the version go to stdout. Arguments that are wrong, or too many, are reported on stderr, and nothing is run.
 * @param perform - replaces the running of what the command does, for a caller that only checks arguments
 */
export function runCommandLine(
  host: Host,
  perform: (work: Work, host: Host) => Promise<ExitCode> = (work) => work(host),
): Promise<ExitCode> {
  const { program, settingsHint, keep, run } = createServerProgram<ExitCode>({
    name: "turnd",
    version: VERSION,
    description: "Runs turns of coding command-line tools and serves their events.",
    settings: "docs/reference.md",
  });
  const line: CommandLine = { program, settingsHint, perform: (work) => keep(perform(work, host)) };
  for (const add of DEFINITIONS) add(line);
  // Called by the shell's completion: the words are a line that is being typed, not arguments.
  if (host.args[0] === "__complete") return printCompletion(program, host);
  return run(host.args);
}
