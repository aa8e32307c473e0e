import { join } from "node:path";
import type { CliName } from "../../protocol/index.ts";
import type { RecordTable } from "../executors/drift/drift.ts";
import { findExecutor } from "../executors/registry.ts";
import cliABaseline from "./baseline/cli-a.json" with { type: "json" };
import cliBBaseline from "./baseline/cli-b.json" with { type: "json" };
import { compare, type Change } from "./compare.ts";
import { lookAtCli } from "./look.ts";
import { observe, type Baseline, type Observation } from "./observation.ts";
import { playScenario, type ProbeStage } from "./play.ts";
import { scenariosOf } from "./scenarios.ts";

/** What a probe found out about one CLI. */
export interface Finding {
  readonly executor: CliName;
  readonly name: string;
  /** Absent when the CLI cannot be run: `fault` says why. */
  readonly version?: string;
  readonly binary?: string;
  readonly fault?: string;
  readonly known_version: string;
  readonly scenarios: readonly ScenarioFinding[];
}

export interface ScenarioFinding {
  readonly scenario: string;
  readonly changes: readonly Change[];
}

const BASELINES: Readonly<Record<CliName, Baseline>> = { "cli-a": cliABaseline, "cli-b": cliBBaseline };

/**
 * Plays every scenario with the installed CLI and compares each with what the known version did in it.
 *
 * @param onPlayed - told of each scenario when it is done
 */
export async function probe(
  stage: ProbeStage,
  executor: CliName,
  onPlayed: (scenario: string) => void,
): Promise<Finding> {
  const { name, version, binary, unavailable } = await lookAtCli(stage, executor);
  const baseline = BASELINES[executor];
  const about = { executor, name, known_version: baseline.version };
  if (version === undefined || binary === undefined) {
    return { ...about, fault: unavailable?.message ?? "the CLI tells no version", scenarios: [] };
  }
  const observed = await observeScenarios(stage, executor, onPlayed);
  const { known } = tableOf(executor);
  const scenarios = Object.entries(observed).map(([scenario, is]): ScenarioFinding => {
    const was = baseline.scenarios[scenario];
    if (was === undefined) throw new Error(`baseline/${executor}.json has no scenario ${scenario}`);
    return { scenario, changes: compare(known, was, is) };
  });
  return { ...about, version, binary, scenarios };
}

/** Plays every scenario; how many turns run at once is the service's limit. */
export async function observeScenarios(
  stage: ProbeStage,
  executor: CliName,
  onPlayed: (scenario: string) => void = () => {},
): Promise<Record<string, Observation>> {
  const table = tableOf(executor);
  const observed = await Promise.all(
    scenariosOf(executor).map(async (scenario) => {
      const { result, events } = await playScenario(stage, executor, scenario);
      const turn = join(stage.stateDirectory, "sessions", result.session_id, "turns", result.turn_id);
      const observation = await observe(result, events, join(turn, "stdout.jsonl"), table);
      onPlayed(scenario.name);
      return [scenario.name, observation] as const;
    }),
  );
  return Object.fromEntries(observed);
}

function tableOf(id: CliName): RecordTable {
  const executor = findExecutor(id);
  if (executor === undefined) throw new Error(`no executor ${id}`);
  return executor.records;
}
