import { defineClientCommands } from "../client/definitions.ts";
import type { CommandLine } from "../definition.ts";
import { warnOfUnknownVariables } from "../host.ts";

/** The commands that ask a turnd that serves, over HTTP. */
export function addClientCommands({ program, perform }: CommandLine): void {
  defineClientCommands(program, (work) =>
    perform((host) => {
      // They read no variable of a CLI, and the CLIs take long to load.
      warnOfUnknownVariables(host, []);
      return work(host);
    }),
  );
}
