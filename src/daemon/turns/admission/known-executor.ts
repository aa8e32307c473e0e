import { ProblemError } from "../../../protocol/index.ts";
import { executorIds, type TurnContext } from "../context.ts";
import type { ExecutorRuntime } from "../readiness/executor-runtime.ts";

type Known = Pick<TurnContext, "executors">;

/**
 * The executor that a request names.
 *
 * @param path - of the field that names it
 * @throws {ProblemError} invalid_request that lists the known ones
 */
export function knownExecutor(context: Known, id: string, path: string): ExecutorRuntime {
  const runtime = context.executors.get(id);
  if (runtime !== undefined) return runtime;
  const message = `must be one of ${executorIds(context)}, got "${id}"`;
  throw new ProblemError("invalid_request", `${path}: ${message}`, { fields: [{ path, message }] });
}

/**
 * The executor of a session that exists; a turnd with more executors may have made it.
 *
 * @throws {ProblemError} executor_not_found that lists the known ones
 */
export function sessionExecutor(context: Known, id: string, sessionId: string): ExecutorRuntime {
  const runtime = context.executors.get(id);
  if (runtime !== undefined) return runtime;
  const message = `session ${sessionId} belongs to ${id}, which this turnd does not have; it has ${executorIds(context)}`;
  throw new ProblemError("executor_not_found", message);
}
