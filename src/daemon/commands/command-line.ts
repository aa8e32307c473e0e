import { Argument, Command, CommanderError, Option } from "commander";
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

const SETTINGS = "\nSettings come from the environment: docs/reference.md names them.";

/**
 * Runs the command that the arguments name, `serve` where there are none.
 *
 * Help and the version go to stdout. Arguments that are wrong, or too many, are named on stderr, and nothing is run.
 * @param executors - ids of the CLIs that `probe` takes
 */
export async function runCommandLine(
  args: readonly string[],
  commands: Commands,
  executors: readonly string[],
): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const program = describeCommands(commands, executors, async (running) => {
    exitCode = await running;
  });
  try {
    await program.parseAsync(args.length === 0 ? ["serve"] : args, { from: "user" });
    return exitCode;
  } catch (error) {
    // Help and the version end here too, with 0.
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) return 2;
    // A reader that has seen enough of the help is no fault.
    process.stdout.once("error", () => undefined);
    return 0;
  }
}

function describeCommands(
  commands: Commands,
  executors: readonly string[],
  keep: (running: Promise<ExitCode>) => Promise<void>,
): Command {
  const program = new Command("turnd")
    .description("Runs turns of coding command-line tools and serves their events. Without a command: serve.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .addHelpText("after", `${SETTINGS}\nExit codes: 0 done, 1 a fault that the message names, 2 wrong arguments.`)
    .exitOverride()
    .showHelpAfterError("(turnd --help lists the commands)")
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error:/, "turnd:")) });
  program
    .command("serve")
    .description("serve /v1; what turnd does without a command")
    .addHelpText("after", SETTINGS)
    .action(() => keep(commands.serve()));
  program
    .command("render")
    .description("write the CLIs' configurations from the environment into the home of their user")
    .addHelpText("after", `${SETTINGS}\nExit code 3 when that home cannot be written.`)
    .action(() => keep(commands.render()));
  program
    .command("doctor")
    .description("look at everything turnd needs of this image or machine, one line per check")
    .option("--json", "print the checks as one JSON document")
    .addHelpText("after", `${SETTINGS}\nExit code 1 on a fault.`)
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
    .addHelpText("after", SETTINGS)
    .action((turnId: string, directory: string) => keep(commands.record(turnId, directory)));
  program
    .command("probe")
    .description(
      "play scenarios with the installed CLIs and print what they do otherwise than the versions turnd knows",
    )
    .addArgument(new Argument("[executor...]", "the CLIs to play with; all where none is named").choices(executors))
    .option("--json", "print the differences as one JSON document")
    .addHelpText("after", `${SETTINGS}\nExit code 1 when a difference breaks turnd.`)
    .action((named: string[], { json = false }: { json?: boolean }) => keep(commands.probe(named, { isJson: json })));
  return program;
}
