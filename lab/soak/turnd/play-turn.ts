import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { TurnAdmission } from "../../../src/turnd/protocol/index.ts";
import { readChecked } from "../../../test/harness/checking-reader.ts";
import type { Answer } from "../../../test/harness/client.ts";
import type { KillableDaemon } from "./killable-daemon.ts";
import type { Random } from "../random.ts";

/** A request that turnd has taken. */
export interface Requested {
  readonly requestId: string;
  readonly turnId: string;
  readonly sessionId: string;
  /** Gets a line from every process that runs the request. */
  readonly witness: string;
}

/** One whose turn was read to its end. */
export interface Admitted extends Requested {
  readonly lastSeq: number;
}

/** What was done to turnd, counted. */
export interface Counts {
  turns: number;
  cancels: number;
  deletes: number;
  steers: number;
  retries: number;
  connections: number;
}

export interface Player {
  readonly daemon: KillableDaemon;
  readonly random: Random;
  readonly counts: Counts;
  readonly sessionId: string;
  /** Marks what escapees leave running. */
  readonly mark: string;
}

const TURN_LIMIT_MS = 120_000;

/** Plays one turn, with whatever comes to mind meanwhile. @returns it and every turn that steered it */
export async function playTurn(player: Player): Promise<Admitted[]> {
  const { random, counts } = player;
  const willStop = random.chance(0.35);
  const first = await admit(player, describeTurn(player, willStop), "enqueue");
  const reading = [readToEnd(player, first)];
  try {
    if (random.chance(0.15)) {
      counts.cancels += 1;
      const waiting = await admit(player, describeTurn(player, false), "enqueue");
      reading.push(readToEnd(player, waiting));
      await insist(player, "POST", `/v1/turns/${waiting.turnId}/cancel`);
    }
    if (willStop || random.chance(0.1)) {
      await delay(random.between(0, 600));
      if (random.chance(0.4)) {
        counts.steers += 1;
        const steering = await admit(player, describeTurn(player, false), "steer");
        reading.push(readToEnd(player, steering));
        await delay(random.between(0, 300));
      }
    }
    // Also after a steer: a turn without end has no step at which it could be stopped but the longest wait.
    if (willStop || random.chance(0.1)) {
      counts.cancels += 1;
      await insist(player, "POST", `/v1/turns/${first.turnId}/cancel`);
    }
  } finally {
    await Promise.allSettled(reading);
  }
  return Promise.all(reading);
}

/** Deletes the session, whatever it is doing. @returns turns that it was given for that, and that no reader has read */
export async function deleteSession(player: Player): Promise<Requested[]> {
  const { random, counts } = player;
  const turns: Requested[] = [];
  for (let count = random.between(0, 2); count > 0; count -= 1) {
    turns.push(await admit(player, describeTurn(player, random.chance(0.5)), "enqueue"));
  }
  await delay(random.between(0, 600));
  counts.deletes += 1;
  // Not found: a daemon that was killed had come that far, or the session has had no turn yet.
  await insist(player, "DELETE", `/v1/sessions/${player.sessionId}`, { expected: [204, 404] });
  return turns;
}

function describeTurn({ random, mark }: Player, isEndless: boolean): string {
  const lines: string[] = [];
  for (let count = random.between(0, 4); count > 0; count -= 1) {
    lines.push(
      random.pick([
        "a message",
        "tool ls",
        "tool make",
        `burst ${random.between(1, 3000)}`,
        `paced ${random.between(1, 30)} 0.02`,
        `sleep 0.${random.between(1, 9)}`,
        "stderr something odd",
        "raw this is no record",
        "open-tool never-ends",
        `shell escapees ${mark}`,
      ]),
    );
  }
  if (random.chance(0.3)) lines.push("ignore-signals");
  lines.push(isEndless ? "hang" : random.pick(["the end", "the end", "the end", "exit 3", "kill-self"]));
  return lines.join("\n");
}

async function admit(player: Player, script: string, queuePolicy: string): Promise<Requested> {
  const { daemon, random, counts, sessionId } = player;
  const requestId = randomUUID();
  const witness = join((await daemon.current()).workspace, `ran-${requestId}`);
  const input = `touch ${witness}\n${script}`;
  const body = { executor: "cli-b", session_id: sessionId, request_id: requestId, input, queue_policy: queuePolicy };
  counts.turns += 1;
  const answer = TurnAdmission.parse((await insist(player, "POST", "/v1/turns", { body })).body);
  if (random.chance(0.2)) {
    counts.retries += 1;
    const again = TurnAdmission.parse((await insist(player, "POST", "/v1/turns", { body })).body);
    if (again.turn_id !== answer.turn_id)
      throw new Error(`${requestId} is both ${answer.turn_id} and ${again.turn_id}`);
  }
  return { requestId, turnId: answer.turn_id, sessionId, witness };
}

interface Asking {
  readonly body?: unknown;
  readonly expected?: readonly number[];
}

/** Asks until there is an answer: a daemon that was killed has to answer later. */
async function insist(player: Player, method: string, path: string, asking: Asking = {}): Promise<Answer> {
  const { daemon, counts } = player;
  const { body, expected = [200, 202] } = asking;
  for (;;) {
    const turnd = await daemon.current();
    const answer = await turnd.request(method, path, body).catch((error: unknown) => {
      if (!(error instanceof TypeError)) throw error;
      return undefined; // The connection broke.
    });
    if (answer !== undefined && expected.includes(answer.status)) return answer;
    if (answer !== undefined) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    counts.retries += 1;
  }
}

async function readToEnd({ daemon, random, counts }: Player, turn: Requested): Promise<Admitted> {
  const url = async (): Promise<string> => `${(await daemon.current()).url}/v1/turns/${turn.turnId}/events`;
  const signal = AbortSignal.timeout(TURN_LIMIT_MS);
  const read = (breakAfter: () => number): ReturnType<typeof readChecked> =>
    readChecked({ url, signal, survivesBreaks: true, breakAfter });
  try {
    const [steady, restless] = await Promise.all([read(() => Infinity), read(() => random.between(1, 2000))]);
    counts.connections += steady.connections + restless.connections;
    if (steady.digest !== restless.digest) throw new Error("two readers, two digests");
    return { ...turn, lastSeq: steady.lastSeq };
  } catch (error) {
    throw new Error(`turn ${turn.turnId} of ${turn.sessionId}`, { cause: error });
  }
}
