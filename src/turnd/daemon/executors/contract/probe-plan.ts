import type { TurnEvent } from "../../../protocol/index.ts";

/** How a CLI is probed: its turns' model is a scripted one on loopback. */
export interface ProbePlan {
  /** Variables by which the CLI asks the scripted model at that address. */
  provider(modelUrl: string): Readonly<Record<string, string>>;
  /** Further ones, by which its turns need nothing that not every machine allows. */
  readonly variables: Readonly<Record<string, string>>;
  /** What the version that turnd knows did in every scenario: `probe-baseline.json`, by `scripts/generate/probe-baseline.ts`. */
  loadBaseline(): Promise<unknown>;
  /** Whether a scenario of `probe/scenarios.ts` means something for this CLI. */
  plays(scenario: string): boolean;
  /** Scenarios that do not end by themselves, and the event at which each is cancelled. */
  readonly cancelAt: Readonly<Record<string, TurnEvent["type"]>>;
}
