import type { Context } from "../context.ts";
import type { ExitCode } from "../exit-codes.ts";

/** Runs what a command does, in a context made of the options. */
export type Run = <Rest extends unknown[]>(
  command: (context: Context, ...rest: Rest) => Promise<ExitCode | undefined | void>,
  ...rest: Rest
) => Promise<void>;
