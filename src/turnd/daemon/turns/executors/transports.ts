import type { ExecutorInfo, RequestedTransport } from "../../../protocol/index.ts";
import type { Configuration } from "../../executors/contract/configuration.ts";
import type { Executor } from "../../executors/contract/executor.ts";

/** What decides whether a CLI can be driven by its server. */
export interface TransportFacts {
  readonly executor: Executor;
  readonly configuration: Configuration;
  /** Of the binary; undefined where it is not known. */
  readonly version: string | undefined;
  /** Whether turns have limits of their own. */
  readonly hasGroups: boolean;
}

/** Why turns cannot be interactive, in a clause; undefined where they can. */
export function findTransportObstacle({
  executor,
  configuration,
  version,
  hasGroups,
}: TransportFacts): string | undefined {
  const { interactive, label } = executor;
  if (interactive === undefined) return `turnd drives no server of ${label}`;
  if (version === undefined || !interactive.versions.includes(version)) {
    const measured = interactive.versions.join(" and ");
    return `turnd has measured the server of ${label} in ${measured}, and this is ${version ?? "of an unknown version"}`;
  }
  if (hasGroups) return "turns have limits of their own (TURND_TURN_MAX_PROCESSES, TURND_TURN_MEMORY_MB)";
  return interactive.findObstacle(configuration);
}

/** How the turns of an executor are driven, for people. */
export function describeTransport(facts: TransportFacts, wanted: RequestedTransport): ExecutorInfo["transport"] {
  const reason = findTransportObstacle(facts);
  if (reason !== undefined) return { by_default: "headless", interactive: false, reason };
  return { by_default: wanted === "headless" ? "headless" : "interactive", interactive: true };
}
