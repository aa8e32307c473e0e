import { cliA } from "./cli-a/adapter.ts";
import { cliB } from "./cli-b/adapter.ts";
import type { Executor } from "./contract/executor.ts";

/** The CLIs turnd drives; a third one is one more line. */
export const EXECUTORS: readonly Executor[] = [cliA, cliB];

/** The executor of that id. */
export function findExecutor(id: string): Executor | undefined {
  return EXECUTORS.find((executor) => executor.id === id);
}
