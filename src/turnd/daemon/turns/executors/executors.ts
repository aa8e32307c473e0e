import type { Executor } from "../../executors/contract/executor.ts";
import { MissingExecutorError } from "../outcome/missing-executor.ts";
import type { ExecutorRuntime } from "./executor-runtime.ts";

/** The executors of this sandbox, by their ids. */
export type Executors = ReadonlyMap<Executor["id"], ExecutorRuntime>;

/**
 * The runtime side of an executor. Admission lets only known ones in; a session on the disk may be of one that this turnd
 * has no more.
 *
 * @throws {MissingExecutorError} in that case
 */
export function executorOf(executors: Executors, id: Executor["id"]): ExecutorRuntime {
  const runtime = executors.get(id);
  if (runtime !== undefined) return runtime;
  throw new MissingExecutorError(`turnd has no executor ${id}; it has ${listIds(executors)}`);
}

/** The ids of the executors, for messages. */
export function listIds(executors: Executors): string {
  return [...executors.keys()].join(", ");
}
