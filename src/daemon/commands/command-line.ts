import { Argument, Option } from "commander";
import { createServerProgram } from "../../command-line/server-program.ts";
import { VERSION } from "../version.ts";

/** 0 done, 1 a fault that the message names, 2 wrong arguments, 3 the home of the CLIs' user cannot be written. */
export type ExitCode = 0 | 1 | 2 | 3;

/** What `replay` prints of a recording. */
export type ReplayView = "events" | "summary" | "decision";

/** Of the commands that can print JSON. */
export interface JsonOption {
  readonly isJson: boolean;
}

/** What each command does, once its arguments are known to be right. */
export interface Commands {
  serve(): Promise<ExitCode>;
  render(): Promise<ExitCode>;
  doctor(options: JsonOption): Promise<ExitCode>;
  replay(paths: readonly string[], view: ReplayView): Promise<ExitCode>;
  record(turnId: string, directory: string): Promise<ExitCode>;
  probe(executors: readonly string[], options: JsonOption): Promise<ExitCode>;
}

/**
 * Runs the command that the arguments name, `serve` where there are none.
 *
 * Help and the version go to stdout. Arguments that are wrong, or too many, are reported on stderr, and nothing is run.
 * @param executors - ids of the CLIs that `probe` takes
 */
export function runCommandLine(
  args: readonly string[],
  commands: Commands,
  executors: readonly string[],
): Promise<ExitCode> {
  const { program, settingsHint, keep, run } = createServerProgram<ExitCode>({
    name: "turnd",
    version: VERSION,
    description: "Runs turns of coding command-line tools and serves their events.",
    settings: "docs/reference.md",
  });
  program
    .command("serve")
    .description("serve /v1; what turnd does without a command")
    .addHelpText("after", settingsHint)
    .action(() => keep(commands.serve()));
  program
    .command("render")
    .description("write the CLIs' configurations from the environment into the home of their user")
    .addHelpText("after", `${settingsHint}\nExit code 3 when that home cannot be written.`)
    .action(() => keep(commands.render()));
  program
    .command("doctor")
    .description("check everything turnd needs of this image or machine, one line per check")
    .option("--json", "print the checks as one JSON document")
    .addHelpText("after", `${settingsHint}\nExit code 1 on a fault.`)
    .action(({ json = false }: { json?: boolean }) => keep(commands.doctor({ isJson: json })));
  program
    .command("replay")
    .description("print the events of recordings as JSON lines")
    .argument("<recording...>", "directories or exported documents, gzipped or not, or - for one on standard input")
    .addOption(new Option("--summary", "print one line per recording instead").conflicts("explain"))
    .option("--explain", "print how the end of each was decided instead")
    .action((paths: string[], { summary, explain }: { summary?: boolean; explain?: boolean }) =>
      keep(commands.replay(paths, summary === true ? "summary" : explain === true ? "decision" : "events")),
    );
  program
    .command("record")
    .description("write an ended turn as a recording, secrets taken out")
    .argument("<turn_id>")
    .argument("<directory>")
    .addHelpText("after", settingsHint)
    .action((turnId: string, directory: string) => keep(commands.record(turnId, directory)));
  program
    .command("probe")
    .description("play scenarios with the installed CLIs and print how they differ from the versions turnd knows")
    .addArgument(new Argument("[executor...]", "the CLIs to play with; all where none is named").choices(executors))
    .option("--json", "print the differences as one JSON document")
    .addHelpText("after", `${settingsHint}\nExit code 1 when a difference breaks turnd.`)
    .action((named: string[], { json = false }: { json?: boolean }) => keep(commands.probe(named, { isJson: json })));
  return run(args);
}
