import { ProblemError } from "../../../protocol/index.ts";
import type { ExecutorRuntime } from "../executors/executor-runtime.ts";
import { listIds, type Executors } from "../executors/executors.ts";

/**
 * The executor that a request names.
 *
 * @param path - of the field that names it
 * @throws {ProblemError} invalid_request that lists the known ones
 */
export function knownExecutor(executors: Executors, id: string, path: string): ExecutorRuntime {
  const runtime = executors.get(id);
  if (runtime !== undefined) return runtime;
  const known = [...executors.values()].map(({ executor }) =>
    executor.builtAs === executor.id ? executor.id : `${executor.id} (${executor.builtAs})`,
  );
  const message = `must be one of ${known.join(", ")}, got "${id}"`;
  throw new ProblemError("invalid_request", `${path}: ${message}`, { fields: [{ path, message }] });
}

/**
 * The executor of a session that exists; a turnd with more executors may have made it.
 *
 * @throws {ProblemError} executor_not_found that lists the known ones
 */
export function sessionExecutor(executors: Executors, id: string, sessionId: string): ExecutorRuntime {
  const runtime = executors.get(id);
  if (runtime !== undefined) return runtime;
  const message = `session ${sessionId} belongs to ${id}, which this turnd does not have; it has ${listIds(executors)}`;
  throw new ProblemError("executor_not_found", message);
}
