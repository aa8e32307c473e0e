import { defineClientCommands } from "../../../client-commands/definitions.ts";
import type { CommandLine } from "../command-line.ts";

/** The commands that ask a turnd that serves, over HTTP. */
export function addClientCommands({ program, perform }: CommandLine): void {
  defineClientCommands(program, perform);
}
