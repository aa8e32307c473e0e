import { createServerProgram } from "../../kit/command-line/server-program.ts";
import { VERSION } from "../version.ts";

/** 0 done, 1 a fault that the message names, 2 wrong arguments. */
export type ExitCode = 0 | 1 | 2;

const COMMANDS = [
  ["serve", "the API and the workers in one process; what runs without a command"],
  ["api", "only the API; needs DATABASE_URL"],
  ["worker", "only workers; needs DATABASE_URL"],
  ["migrate", "bring the database to this version's schema"],
  ["reset-password", "give a user the password on standard input, and end the user's logins", "<username>"],
  ["end-credentials", "end every login, and disable every API key and webhook: after a restore"],
  ["doctor", "look at everything the service needs of this machine"],
  ["openapi", "print the description of the API"],
] as const;

/** What each command does, once it is known that its arguments are right. */
export type Commands = Readonly<Record<(typeof COMMANDS)[number][0], (argument: string) => Promise<ExitCode>>>;

/**
 * Runs the command that the arguments name, `serve` where there are none.
 *
 * Help and the version go to stdout. Arguments that are wrong, or too many, are named on stderr, and nothing is run.
 */
export function runCommandLine(args: readonly string[], commands: Commands): Promise<ExitCode> {
  const { program, settingsHint, keep, run } = createServerProgram<ExitCode>({
    name: "svc-service",
    version: VERSION,
    description: "The agent service: agents, threads and runs over HTTP, on turnd.",
    settings: "docs/service-reference.md",
  });
  for (const [name, description, argument = ""] of COMMANDS) {
    program
      .command(`${name} ${argument}`.trim())
      .description(description)
      .addHelpText("after", settingsHint)
      // Without an argument commander gives the options first.
      .action((given: unknown) => keep(commands[name](typeof given === "string" ? given : "")));
  }
  return run(args);
}
