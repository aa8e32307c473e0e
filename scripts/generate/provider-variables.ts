import { EXECUTORS } from "../../src/turnd/daemon/executors/registry.ts";
import type { CliName } from "../../src/turnd/protocol/index.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The CLIs that a provider is set for, incomplete ones included: turnd reports what is missing. */
export function configuredClis(env: Env): CliName[] {
  return EXECUTORS.flatMap(({ id, configure, defaultName }) => {
    const result = configure({ env, cliName: defaultName });
    return !result.ok || result.configuration.isConfigured ? [id] : [];
  });
}

/** The CLIs that can talk to a scripted model. */
export function scriptableClis(): CliName[] {
  return EXECUTORS.flatMap(({ id, probe }) => (probe === undefined ? [] : [id]));
}

/** Variables that make CLIs ask a scripted model. */
export function scriptedVariables(url: string, clis: readonly CliName[]): Record<string, string> {
  return Object.fromEntries(plansOf(clis).flatMap(({ provider }) => Object.entries(provider(url))));
}

/** Variables that let turns of a scripted model run on any machine. */
export function anywhereVariables(clis: readonly CliName[]): Record<string, string> {
  return Object.fromEntries(plansOf(clis).flatMap(({ variables }) => Object.entries(variables)));
}

function plansOf(clis: readonly CliName[]) {
  return EXECUTORS.flatMap(({ id, probe }) => (probe !== undefined && clis.includes(id) ? [probe] : []));
}
