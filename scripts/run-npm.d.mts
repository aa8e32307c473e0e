import type { SpawnSyncReturns } from "node:child_process";

/** Runs the one npm that this repository's locks are written and installed with; what it prints goes to stderr. */
export function runNpm(args: readonly string[], directory: string): SpawnSyncReturns<Buffer>;
