import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Executor } from "../executors/contract/executor.ts";
import { compare, type Change } from "./compare.ts";
import { Baseline, observe, type Observation } from "./observation.ts";
import { playScenario, type ProbeStage } from "./play.ts";
import { scenariosOf } from "./scenarios.ts";
import type { ExecutorInfo } from "../../protocol/index.ts";

/** What a probe found out about one CLI. */
export interface Finding {
  readonly executor: string;
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

/** Called with each scenario when it is done, while its turn is still on disk. */
export type OnPlayed = (scenario: string, turnDirectory: string) => void | Promise<void>;

/** What is played of a CLI's scenarios. */
export interface PlayOptions {
  readonly onPlayed?: OnPlayed;
  /** Names; absent: all. */
  readonly scenarios?: readonly string[];
}

/** Plays scenarios with the installed CLI and compares each with what the known version did in it. */
export async function probe(stage: ProbeStage, executor: Executor, options: PlayOptions): Promise<Finding> {
  const { id, contractVersion } = executor;
  const { name, version, binary, unavailable } = await lookAtCli(stage, id);
  const about = { executor: id, name };
  if (executor.probe === undefined) {
    const fault = "this executor has no plan for a probe";
    return { ...about, fault, known_version: contractVersion, scenarios: [] };
  }
  const baseline = Baseline.parse(await executor.probe.loadBaseline());
  if (version === undefined || binary === undefined) {
    const fault = unavailable?.message ?? "the CLI reports no version";
    return { ...about, fault, known_version: baseline.version, scenarios: [] };
  }
  const observed = await observeScenarios(stage, executor, options);
  const scenarios = Object.entries(observed).map(([scenario, is]): ScenarioFinding => {
    const was = baseline.scenarios[scenario];
    if (was === undefined) throw new Error(`the baseline of ${id} has no scenario ${scenario}`);
    return { scenario, changes: compare(executor.records.known, was, is) };
  });
  return { ...about, version, binary, known_version: baseline.version, scenarios };
}

/**
 * Plays scenarios; how many turns run at once is the service's limit.
 *
 * @returns nothing for a CLI that is not probed
 */
export async function observeScenarios(
  stage: ProbeStage,
  { id, probe: plan, records }: Executor,
  { onPlayed = () => {}, scenarios }: PlayOptions = {},
): Promise<Record<string, Observation>> {
  if (plan === undefined) return {};
  const observed = await Promise.all(
    scenariosOf(plan, scenarios).map(async (scenario) => {
      const { result, events } = await playScenario(stage, { executor: id, plan }, scenario);
      const turn = join(stage.stateDirectory, "sessions", result.session_id, "turns", result.turn_id);
      const observation = await observe(result, events, join(turn, "stdout.jsonl"), records);
      await onPlayed(scenario.name, turn);
      return [scenario.name, observation] as const;
    }),
  );
  return Object.fromEntries(observed);
}

const ASK_AGAIN_MS = 250;

/** What the stage knows of a CLI once it has been asked all: a client of HTTP is answered before that, a probe has time. */
export async function lookAtCli({ service }: ProbeStage, executor: string): Promise<ExecutorInfo> {
  for (;;) {
    const info = await service.getExecutor(executor);
    if (info.checking !== true) return info;
    await delay(ASK_AGAIN_MS);
  }
}
