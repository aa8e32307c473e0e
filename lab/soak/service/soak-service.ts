import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AgentAnswer } from "../../../src/service/protocol/agents.ts";
import { Token } from "../../../src/service/protocol/auth.ts";
import { processesNaming } from "../../../test/harness/processes.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { describeError } from "../describe-error.ts";
import { createRandom } from "../random.ts";
import type { SoakOptions } from "../soak-options.ts";
import { ask, createCaller, type Counts } from "./caller.ts";
import { findFaults, watchStates } from "./find-faults.ts";
import { PLANNER, playPlan } from "./play-plan.ts";
import { playThread } from "./play-thread.ts";
import { startStage, type EngineName, type Stage } from "./stage.ts";

const PLAYERS = 4;
const PASSWORD = "a soak needs a password";

/**
 * Plays random threads on both engines at once while every process is killed now and then: the API, the workers, turnd
 * and PostgreSQL. @returns faults, one sentence each
 */
export async function soakService(options: SoakOptions): Promise<string[]> {
  const engines = ["pglite", "postgres"] as const;
  const results = await Promise.all(
    engines.map((engine, index) => {
      const directory = join(options.directory, engine);
      mkdirSync(directory, { mode: 0o755 });
      // The other engine goes on: what it finds counts too.
      return soakEngine(engine, { ...options, directory, seed: options.seed + index }).catch((error: unknown) => [
        `${engine}: ${describeError(error)}`,
      ]);
    }),
  );
  return results.flat();
}

async function soakEngine(engine: EngineName, { directory, seed, seconds, signal }: SoakOptions): Promise<string[]> {
  const random = createRandom(seed);
  const faults: string[] = [];
  const endings = new Map<string, number>();
  const counts: Counts = {
    requests: 0,
    runs: 0,
    steers: 0,
    cancels: 0,
    resumes: 0,
    retries: 0,
    connections: 0,
    events: 0,
  };
  const stage = await startStage(engine, directory);
  try {
    await watchStates(stage.database);
    const anonymous = createCaller({ stage, random, counts }, undefined);
    const login = { username: "root", password: PASSWORD };
    const { access_token: token } = await ask(anonymous, Token, ["POST", "/api/auth/initialize", login]);
    const caller = createCaller({ stage, random, counts }, token);
    const planner = { slug: PLANNER, name: "Planner", executor: "cli-b", mode: "plan_then_execute" };
    await ask(caller, AgentAnswer, ["POST", "/api/agents", planner]);
    const startedAt = performance.now();
    const isOver = (): boolean => signal.aborted || performance.now() - startedAt > seconds * 1000;

    const play = async (): Promise<void> => {
      while (!isOver()) {
        try {
          const seen = await (random.chance(0.25) ? playPlan(caller) : playThread(caller));
          for (const { ending, faults: found } of seen) {
            endings.set(ending, (endings.get(ending) ?? 0) + 1);
            faults.push(...found.map((fault) => `${engine}: ${fault}`));
            counts.runs += 1;
          }
        } catch (error) {
          faults.push(`${engine}: ${describeError(error)}`);
        }
      }
    };
    await Promise.all([...Array.from({ length: PLAYERS }, play), killNowAndThen(stage, random, isOver)]);
    faults.push(...(await stage.stopProcesses()).map((fault) => `${engine}: ${fault}`));
    faults.push(...(await findFaults(stage.database)));
    await stage.stopDatabase();
    const left = (): number[] => processesNaming(`${directory}/`, "anywhere").filter((pid) => pid !== process.pid);
    await waitFor("nothing is left", () => left().length === 0, 30_000).catch(() => undefined);
    faults.push(...left().map((pid) => `${engine}: process ${pid} is left`));
    report(engine, { seed, elapsedMs: performance.now() - startedAt, counts, endings, stage, faults });
    return faults;
  } catch (error) {
    await stage.stopProcesses();
    await stage.stopDatabase();
    throw error;
  }
}

async function killNowAndThen(
  { killables }: Stage,
  random: ReturnType<typeof createRandom>,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    await delay(random.between(2_000, 12_000));
    const victim = killables[random.between(0, killables.length - 1)];
    await victim?.killAndRestart(random.between(0, 3_000));
  }
}

interface Report {
  readonly seed: number;
  readonly elapsedMs: number;
  readonly counts: Counts;
  readonly endings: ReadonlyMap<string, number>;
  readonly stage: Stage;
  readonly faults: readonly string[];
}

function report(engine: EngineName, { seed, elapsedMs, counts, endings, stage, faults }: Report): void {
  console.log(
    `${new Date().toISOString().slice(0, 10)}, ${engine}, seed ${seed}, ${Math.round(elapsedMs / 1000)} s\n` +
      `${counts.requests} requests, ${counts.steers} steers, ${counts.cancels} cancels, ${counts.resumes} resumes, ` +
      `${counts.retries} retried calls\n` +
      `${counts.events} events read over ${counts.connections} connections\n` +
      `${[...endings].map(([ending, count]) => `${count} ${ending}`).join(", ")}\n` +
      `kill -9: ${stage.killables.map(({ name, kills }) => `${kills()} ${name}`).join(", ")}\n${faults.length} faults`,
  );
}
