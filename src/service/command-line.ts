import { Command, CommanderError } from "commander";
import { VERSION } from "./version.ts";

/** 0 done, 1 a fault that the message names, 2 wrong arguments. */
export type ExitCode = 0 | 1 | 2;

const COMMANDS = [
  ["serve", "the API and the workers in one process; what runs without a command"],
  ["api", "the API alone; needs DATABASE_URL"],
  ["worker", "workers alone; needs DATABASE_URL"],
  ["migrate", "bring the database to this version's schema"],
  ["reset-password", "give a user the password on standard input, and end the user's logins", "<username>"],
  ["doctor", "look at everything the service needs of this machine"],
  ["openapi", "print the description of the API"],
] as const;

/** What each command does, once it is known that its arguments are right. */
export type Commands = Readonly<Record<(typeof COMMANDS)[number][0], (argument: string) => Promise<ExitCode>>>;

const SETTINGS = "\nSettings come from the environment: docs/service-reference.md names them.";

/**
 * Runs the command that the arguments name, `serve` where there are none.
 *
 * Help and the version go to stdout. Arguments that are wrong, or too many, are named on stderr, and nothing is run.
 */
export async function runCommandLine(args: readonly string[], commands: Commands): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const program = new Command("svc-service")
    .description("The agent service: agents, threads and runs over HTTP, on turnd. Without a command: serve.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .addHelpText("after", `${SETTINGS}\nExit codes: 0 done, 1 a fault that the message names, 2 wrong arguments.`)
    .exitOverride()
    .showHelpAfterError("(svc-service --help lists the commands)")
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error:/, "svc-service:")) });
  for (const [name, description, argument = ""] of COMMANDS) {
    program
      .command(`${name} ${argument}`.trim())
      .description(description)
      .addHelpText("after", SETTINGS)
      .action(async (given: unknown) => {
        // Without an argument commander gives the options first.
        exitCode = await commands[name](typeof given === "string" ? given : "");
      });
  }
  try {
    await program.parseAsync(args.length === 0 ? ["serve"] : args, { from: "user" });
    return exitCode;
  } catch (error) {
    // Help and the version end here too, with 0.
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
}
