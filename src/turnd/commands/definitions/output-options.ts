import { constants } from "node:os";
import { InvalidArgumentError, Option, type Command } from "commander";
import { nearest } from "../../../kit/command-line/nearest.ts";
import { CliName, type Exit } from "../../protocol/index.ts";
import type { Executor } from "../../daemon/executors/contract/executor.ts";

/** Options for output without a recording, or in place of what was recorded. */
export interface OutputOptions {
  readonly executor?: string;
  readonly exit?: Exit;
}

/** Adds `--executor` and `--exit`. */
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

/**
 * Finds names that no executor has.
 *
 * @returns the message; undefined where all are known
 */
export function describeUnknownExecutor(
  named: readonly (string | undefined)[],
  executors: readonly Executor[],
): string | undefined {
  const names = executors.flatMap(({ id, builtAs }) => [id, builtAs]);
  const unknown = named.find((name) => name !== undefined && !names.includes(name));
  if (unknown === undefined) return undefined;
  const hint = nearest(unknown, names);
  const ids = executors.map(({ id }) => id).join(", ");
  return `there is no executor ${JSON.stringify(unknown)}, only ${ids}${hint === undefined ? "" : ` (Did you mean ${hint}?)`}`;
}

/** Checks only the form: whether turnd has it is known once the executors are loaded. */
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
