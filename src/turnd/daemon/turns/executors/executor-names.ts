import type { Executor } from "../../executors/contract/executor.ts";
import type { Executors } from "./executors.ts";

/** The names that requests may use in place of ids: what the CLIs' own programs are called. */
export function aliasesOf(executors: readonly Pick<Executor, "id" | "builtAs">[]): string[] {
  return executors.filter(({ id, builtAs }) => builtAs !== id).map(({ builtAs }) => builtAs);
}

/** The id that a name stands for; a name that stands for none is returned as it is. */
export function executorIdOf(executors: Executors, name: string): Executor["id"] {
  if (executors.has(name)) return name;
  return [...executors.values()].find(({ executor }) => executor.builtAs === name)?.executor.id ?? name;
}

/** A request with the executor's id, however it names it: by both names it is the same request. */
export function withExecutorId<T extends { readonly executor?: string | undefined }>(
  executors: Executors,
  request: T,
): T {
  return request.executor === undefined ? request : { ...request, executor: executorIdOf(executors, request.executor) };
}
