import { CliName, REPLAY } from "../../../protocol/index.ts";
import type { Executor } from "./executor.ts";

/**
 * Checks a registry: each id has the form that the wire asks for, and neither names nor prefixes of variables occur twice.
 *
 * @throws what to change in the registry: a fault of the program, not of its user
 */
export function assertExecutors(executors: readonly Executor[]): void {
  for (const name of executors.flatMap(({ id, builtAs }) => [id, builtAs])) {
    if (!CliName.safeParse(name).success || name === REPLAY) throw new Error(`"${name}" cannot name an executor`);
  }
  // A request may name an executor by both.
  assertUnique([
    ...executors.map(({ id }) => id),
    ...executors.flatMap(({ id, builtAs }) => (builtAs === id ? [] : [builtAs])),
  ]);
  assertUnique(executors.map(({ variablePrefix }) => variablePrefix));
}

function assertUnique(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`two executors have "${twice}"`);
}
