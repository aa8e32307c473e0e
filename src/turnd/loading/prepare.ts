import { join } from "node:path";
import type { Host } from "../commands/host.ts";
import { keepCompiledCode, useCompiledCode } from "./load-part.ts";
import { holdOptimiser } from "./optimiser.ts";

/** What it asks of the program, and tells it. */
export type Prepared = Pick<Host, "onListening" | "onWork" | "whyNoCompiledCode">;

/**
 * Prepares V8 for a program that is to start fast and to stay small, before that is loaded.
 *
 * @param args - of the command line. Other commands than `serve` run under other limits of V8, for which all would be
 * compiled anew, and optimise from the start on
 * @param directory - of the main file; compiled code is in `cache/`, beside it
 */
export function prepareV8([command = "serve"]: readonly string[], directory: string): Prepared {
  if (command !== "serve" && !command.startsWith("-")) return {};
  const optimiser = holdOptimiser();
  const whyNoCompiledCode = useCompiledCode(join(directory, "cache"), optimiser);
  return {
    onWork: optimiser.letGo,
    ...(whyNoCompiledCode === undefined ? { onListening: keepCompiledCode } : { whyNoCompiledCode }),
  };
}
