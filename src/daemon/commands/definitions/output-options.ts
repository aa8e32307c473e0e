import { constants } from "node:os";
import { InvalidArgumentError, Option, type Command } from "commander";
import { CliName, type Exit } from "../../../protocol/index.ts";

/** What a person says of output that came alone, or in the place of what was recorded. */
export interface OutputOptions {
  readonly executor?: string;
  readonly exit?: Exit;
}

/** Adds the options that say whose output a file is and how its process ended. */
export function addOutputOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--executor <id>", "the CLI that printed it, instead of the one recorded or recognised").argParser(
        parseExecutor,
      ),
    )
    .addOption(
      new Option(
        "--exit <code|signal>",
        "how its process ended, such as 1 or SIGKILL, instead of what is recorded",
      ).argParser(parseExit),
    );
}

/** Whether turnd has it is known once the executors are loaded. */
function parseExecutor(value: string): string {
  if (!CliName.safeParse(value).success) throw new InvalidArgumentError("It is no id of an executor, such as cli-a.");
  return value;
}

function parseExit(value: string): Exit {
  if (/^\d{1,3}$/.test(value) && Number(value) <= 255) return { code: Number(value), signal: null };
  const signal = value.toUpperCase().replace(/^(?:SIG)?/, "SIG");
  if (signal in constants.signals) return { code: null, signal };
  throw new InvalidArgumentError("It is neither a code from 0 to 255 nor a signal, such as SIGKILL.");
}
