import { Option, type Command } from "commander";
import { wholeNumber } from "../../../kit/command-line/whole-number.ts";

/** What can be denied to a session or a turn. */
export const PERMISSIONS = ["edit", "execute", "network"] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** Adds the options that every client command takes. */
export function addCommonOptions(command: Command): Command {
  return command
    .option("--url <address>", "address of the turnd to ask (TURND_URL)")
    .option("--token-file <file>", "file that holds its token (TURND_TOKEN, TURND_TOKEN_FILE)")
    .option("--insecure", "allow plain http beyond this machine")
    .option("--json", "print JSON, one document per line")
    .option("-q, --quiet", "print only the answer");
}

/** Adds `--deny`, which can be given more than once. */
export function addDeny(command: Command): Command {
  return command.addOption(new Option("--deny <permission...>", "what it may not do").choices(PERMISSIONS));
}

/** Adds `--lost-after`. */
export function addLostAfter(command: Command): Command {
  return command.option(
    "--lost-after <seconds>",
    "give up when nothing has come for so long, connections made again included",
    wholeNumber(1, 86_400),
    120,
  );
}
