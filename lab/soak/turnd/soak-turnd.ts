import { setTimeout as delay } from "node:timers/promises";
import type { TestDaemon } from "../../../test/harness/daemon.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { faultsOfState, inspectDeleted, inspectTurn, leftovers } from "./find-faults.ts";
import { startKillableDaemon } from "./killable-daemon.ts";
import { deleteSession, playTurn, type Admitted, type Counts, type Requested } from "./play-turn.ts";
import { describeError } from "../describe-error.ts";
import { createRandom } from "../random.ts";
import type { SoakOptions } from "../soak-options.ts";

const SESSIONS = 5;

/** Plays random turns until the time is up, then looks for what should not be. @returns faults, one sentence each */
export async function soakTurnd({ directory, seed, seconds, signal }: SoakOptions): Promise<string[]> {
  const random = createRandom(seed);
  const daemon = await startKillableDaemon(directory);
  const counts: Counts = { turns: 0, cancels: 0, deletes: 0, steers: 0, retries: 0, connections: 0 };
  let admitted: Admitted[] = [];
  const deleted: Requested[] = [];
  const faults: string[] = [];
  const endings = new Map<string, number>();
  let events = 0;
  const startedAt = performance.now();
  // Sleeps for so many seconds are what escapees leave; a number of this run's own.
  const mark = String(2_000_000 + random.between(0, 999_999));
  const isOver = (): boolean => signal.aborted || performance.now() - startedAt > seconds * 1000;

  async function playSession(number: number): Promise<void> {
    while (!isOver()) {
      try {
        const player = { daemon, random, counts, sessionId: `session-${number}`, mark };
        if (random.chance(0.03)) {
          const isGone = (turn: Requested): boolean => turn.sessionId === player.sessionId;
          // Afterwards there is nothing of them left to look at.
          inspect(await daemon.current(), admitted.filter(isGone));
          const unread = await deleteSession(player);
          deleted.push(...unread, ...admitted.filter(isGone));
          admitted = admitted.filter((turn) => !isGone(turn));
        } else {
          const played = await playTurn(player);
          admitted.push(...played);
        }
      } catch (error) {
        faults.push(describeError(error));
      }
    }
  }
  function inspect(turnd: TestDaemon, turns: readonly Admitted[]): void {
    for (const turn of turns) {
      const { ending, faults: found } = inspectTurn(turnd, turn);
      endings.set(ending, (endings.get(ending) ?? 0) + 1);
      events += turn.lastSeq;
      faults.push(...found);
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
  inspect(turnd, admitted);
  for (const turn of deleted) faults.push(...(await inspectDeleted(turnd, turn)));
  const known = admitted.length + deleted.length;
  if (known !== counts.turns) faults.push(`${counts.turns} turns were asked for, ${known} ended or were deleted`);
  else faults.push(...faultsOfState(turnd, admitted));
  const code = await turnd.stop();
  if (code !== 0) faults.push(`turnd stopped with ${code}`);
  console.log(
    `${new Date().toISOString().slice(0, 10)}, seed ${seed}, ${Math.round((performance.now() - startedAt) / 1000)} s\n` +
      `${counts.turns} turns of ${SESSIONS} sessions, ${deleted.length} of them deleted with their session later\n` +
      `${events} events, each read by two clients\n` +
      `${[...endings].map(([ending, count]) => `${count} ${ending}`).join(", ")}\n` +
      `${daemon.kills()} kill -9, ${counts.cancels} cancels, ${counts.deletes} deletes, ${counts.steers} steers, ` +
      `${counts.retries} retried requests, ${counts.connections} connections\n${faults.length} faults`,
  );
  return faults;
}
