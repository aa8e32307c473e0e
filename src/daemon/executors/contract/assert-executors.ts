import { CliName, REPLAY } from "../../../protocol/index.ts";
import type { Executor } from "./executor.ts";

/**
 * Checks a registry: each id has the form that the wire asks for, and neither ids nor prefixes of variables occur twice.
 *
 * @throws what to change in the registry: a fault of the program, not of its user
 */
export function assertExecutors(executors: readonly Executor[]): void {
  for (const { id } of executors) {
    if (!CliName.safeParse(id).success || id === REPLAY) throw new Error(`"${id}" cannot be the id of an executor`);
  }
  assertUnique(executors.map(({ id }) => id));
  assertUnique(executors.map(({ variablePrefix }) => variablePrefix));
}

function assertUnique(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`two executors have "${twice}"`);
}
