import { Command, CommanderError } from "commander";

/** What a server's command line says of it. */
export interface ServerProgramOptions {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** The document that names the settings. */
  readonly settings: string;
}

/** The command line of a server, which `serve`s where no command is named and has its settings from the environment. */
export interface ServerProgram<Code extends number> {
  readonly program: Command;
  /** At the end of the help of each command that needs settings. */
  readonly settingsHint: string;
  /** Runs a command; what it resolves with ends the process. */
  keep(running: Promise<Code>): Promise<void>;
  /**
   * Runs the command that the arguments name.
   *
   * Help and the version go to stdout. Arguments that are wrong, or too many, are named on stderr, and nothing is run.
   * @returns the command's own code, 0 after help and 2 for wrong arguments
   */
  run(args: readonly string[]): Promise<Code | 0 | 2>;
}

/** A command line without commands: its caller adds them to `program`, after this, as each takes over what is set here. */
export function createServerProgram<Code extends number>(options: ServerProgramOptions): ServerProgram<Code> {
  const { name, version } = options;
  let exitCode: Code | 0 = 0;
  const settingsHint = `\nSettings come from the environment: ${options.settings} names them.`;
  const program = new Command(name)
    .description(`${options.description} Without a command: serve.`)
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .addHelpText("after", `${settingsHint}\nExit codes: 0 done, 1 a fault that the message names, 2 wrong arguments.`)
    .exitOverride()
    .showHelpAfterError(`(${name} --help lists the commands)`)
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error:/, `${name}:`)) });
  return {
    program,
    settingsHint,
    async keep(running) {
      exitCode = await running;
    },
    async run(args) {
      try {
        await program.parseAsync(withCommand(program, args), { from: "user" });
        return exitCode;
      } catch (error) {
        // Help and the version end here too, with 0.
        if (!(error instanceof CommanderError)) throw error;
        if (error.exitCode !== 0) return 2;
        // A reader that has seen enough of the help is no fault.
        if (process.stdout.listenerCount("error") === 0) process.stdout.on("error", () => undefined);
        return 0;
      }
    },
  };
}

const OWN_OPTIONS = new Set(["-h", "--help", "-V", "--version"]);

/** Options alone are those of `serve`; help of a command that does not exist is refused, and not answered with another. */
function withCommand(program: Command, args: readonly string[]): readonly string[] {
  const isHelp = args[0] === "help";
  const [first, ...rest] = isHelp ? args.slice(1) : args;
  if (first === undefined) return isHelp ? ["--help"] : ["serve"];
  if (first.startsWith("-")) return isHelp || OWN_OPTIONS.has(first) ? [first, ...rest] : ["serve", first, ...rest];
  if (first === "help") return ["--help"];
  if (!program.commands.some((command) => command.name() === first)) return [first];
  return isHelp ? [first, ...rest, "--help"] : [first, ...rest];
}
