import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { waitFor } from "../test/harness/wait-for.ts";
import { withDirectory } from "./bench/stage.ts";
import { faultsOfState, inspectTurn, leftovers } from "./soak/find-faults.ts";
import { startMortalDaemon } from "./soak/mortal-daemon.ts";
import { playTurn, type Admitted, type Counts } from "./soak/play-turn.ts";
import { createRandom } from "./soak/random.ts";

const SESSIONS = 5;

/** Plays random turns until the time is up, then looks for what should not be. @returns faults, one sentence each */
async function soak(directory: string, seed: number, seconds: number): Promise<string[]> {
  const random = createRandom(seed);
  const daemon = await startMortalDaemon(directory);
  const counts: Counts = { turns: 0, cancels: 0, steers: 0, retries: 0, connections: 0 };
  const admitted: Admitted[] = [];
  const faults: string[] = [];
  const startedAt = performance.now();
  // Sleeps for so many seconds are what escapees leave; a number of this run's own.
  const mark = String(2_000_000 + random.between(0, 999_999));
  const isOver = (): boolean => stopping.signal.aborted || performance.now() - startedAt > seconds * 1000;

  async function playSession(number: number): Promise<void> {
    while (!isOver()) {
      try {
        const player = { daemon, random, counts, sessionId: `session-${number}`, mark };
        admitted.push(...(await playTurn(player)));
      } catch (error) {
        faults.push(describe(error));
      }
    }
  }
  async function killNowAndThen(): Promise<void> {
    while (!isOver()) {
      await delay(random.between(500, 8000));
      await daemon.killAndRestart();
    }
  }

  await Promise.all([killNowAndThen(), ...Array.from({ length: SESSIONS }, (_, number) => playSession(number))]);
  const turnd = await daemon.current();
  await waitFor("an idle daemon", () => leftovers(turnd, directory, mark).length === 0, 10_000).catch(() => undefined);
  faults.push(...leftovers(turnd, directory, mark));
  const endings = new Map<string, number>();
  for (const turn of admitted) {
    const { ending, faults: found } = inspectTurn(turnd, turn);
    endings.set(ending, (endings.get(ending) ?? 0) + 1);
    faults.push(...found);
  }
  if (admitted.length !== counts.turns) faults.push(`${counts.turns} turns were asked for, ${admitted.length} ended`);
  else faults.push(...faultsOfState(turnd, admitted));
  const code = await turnd.stop();
  if (code !== 0) faults.push(`turnd stopped with ${code}`);
  const events = admitted.reduce((sum, turn) => sum + turn.lastSeq, 0);
  console.log(
    `${new Date().toISOString().slice(0, 10)}, seed ${seed}, ${Math.round((performance.now() - startedAt) / 1000)} s\n` +
      `${counts.turns} turns of ${SESSIONS} sessions, ${events} events, each read by two clients\n` +
      `${[...endings].map(([ending, count]) => `${count} ${ending}`).join(", ")}\n` +
      `${daemon.kills()} kill -9, ${counts.cancels} cancels, ${counts.steers} steers, ` +
      `${counts.retries} retried requests, ${counts.connections} connections\n${faults.length} faults`,
  );
  return faults;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`;
}

const { values } = parseArgs({ options: { seconds: { type: "string" }, seed: { type: "string" } } });
const stopping = new AbortController();
// The first one ends the run early, with its checks; what is left running is ended by the daemon's own stop.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stopping.abort());
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
console.log(`seed ${seed}`);
const faults = await withDirectory("turnd-soak", (directory) => soak(directory, seed, Number(values.seconds ?? 600)));
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
