import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createClock } from "../clock.ts";
import { percentile, type Figure } from "../figures.ts";
import type { Arrival } from "../sse-client.ts";
import { bundleTurnd, messageOf, runTurn, withDaemon, type Stage } from "../stage.ts";
import { BARE_RELAY, installPeer, openSession, PEER, residentMiB, withPeer, type Peer } from "./sandbox-agent.ts";

const LINES = 250;
const PACE_SECONDS = 0.005;
/** The machine's moods last seconds, and differ by half: short turns of all, one after the other, see the same ones. */
const ROUNDS = 20;
const BURST = 50_000;
const STARTS = 10;
const SETTLED_MS = 5000;

/** turnd as the image runs it, beside the peer: the same lines, the same client, in turns. */
export async function benchBesidePeer(directory: string): Promise<Figure[]> {
  const binary = await installPeer(directory);
  const program = await bundleTurnd(directory);
  const started = await benchStarts(binary, program, directory);
  const compare = async (stage: Stage, peer: Peer): Promise<Figure[]> => {
    await delay(SETTLED_MS);
    const memory = compareMemory(stage, peer);
    await openSession(peer);
    await stage.turnd.run({ executor: "cli-b", input: "burst 500" });
    const latency = await withPeer(BARE_RELAY, join(directory, "bare"), async (bare) => {
      await openSession(bare);
      return benchLatency(stage, peer, bare);
    });
    return [...latency, memory, await benchBurst(stage, peer)];
  };
  const served = await withPeer([binary], join(directory, "peer"), (peer) =>
    withDaemon(directory, (stage) => compare(stage, peer), program),
  );
  return [...started, ...served];
}

/** @param bare - the least that Node does, as a floor of what turnd could come to */
async function benchLatency(stage: Stage, peer: Peer, bare: Peer): Promise<Figure[]> {
  const now = createClock();
  const prompt = `stamped ${LINES} ${PACE_SECONDS}`;
  const [ours, theirs, least]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    // Read when all have come, as the peer's: a client that parses is on the processor that turnd wants.
    const arrivals: Arrival[] = [];
    await runTurn(stage, prompt, { now, onArrival: (arrival) => void arrivals.push(arrival) });
    ours.push(...latenciesOf(arrivals, messageOf));
    theirs.push(...latenciesOf(await promptAndFollow(peer, prompt, now), textOf));
    least.push(...latenciesOf(await promptAndFollow(bare, prompt, now), textOf));
  }
  if (ours.length !== ROUNDS * LINES) throw new Error(`${ours.length} of ${ROUNDS * LINES} lines arrived`);
  const compare = (name: string, times: readonly number[], share: number, target?: string): Figure => {
    const [own, other] = [percentile(times, share), percentile(theirs, share)];
    return {
      measure: `CLI line to SSE client, ${ROUNDS} times ${LINES} lines ${PACE_SECONDS * 1000} ms apart, ${name}p${share * 100}`,
      turnd: `${own.toFixed(2)} ms`,
      yardstick: `${other.toFixed(2)} ms ${PEER}`,
      ratio: own / other,
      ...(target === undefined ? {} : { target }),
    };
  };
  return [
    compare("", ours, 0.5, "<= 1.3"),
    compare("", ours, 0.95),
    compare("", ours, 0.99),
    compare("a relay of 30 lines of Node, ", least, 0.5),
  ];
}

/** @param stampOf - the time at which the line of a frame was written, in seconds */
function latenciesOf(arrivals: readonly Arrival[], stampOf: (frame: string) => string | undefined): number[] {
  return arrivals.flatMap(({ at, frames }) =>
    frames.flatMap((frame) => {
      const stamp = stampOf(frame);
      return stamp === undefined ? [] : [at - Number(stamp) * 1000];
    }),
  );
}

/** The text of one of the peer's frames, where it has one. */
function textOf(frame: string): string | undefined {
  return frame.includes("agent_message_chunk") ? /"text":"([\d.]+)"/.exec(frame)?.[1] : undefined;
}

async function benchBurst(stage: Stage, peer: Peer): Promise<Figure> {
  const now = (): number => performance.now();
  let arrived = 0;
  await runTurn(stage, `burst ${BURST}`, {
    now,
    onArrival({ frames }) {
      for (const text of frames.map(messageOf)) if (text !== undefined) arrived += 1;
    },
  });
  const others = latenciesOf(await promptAndFollow(peer, `burst ${BURST}`, now), textOf).length;
  return {
    measure: `events that a client has of a burst of ${BURST}`,
    turnd: `${arrived}`,
    yardstick: `${others} ${PEER}`,
    ratio: arrived / others,
  };
}

/** Follows the agent while it answers a prompt, and until nothing has come for a while. */
async function promptAndFollow(peer: Peer, prompt: string, now: () => number): Promise<Arrival[]> {
  const arrivals: Arrival[] = [];
  const stop = new AbortController();
  let last = performance.now();
  // A client that comes later is sent the last 1024 again: they are of turns before this one.
  let isReplay = true;
  const following = peer.follow(
    now,
    (arrival) => {
      last = performance.now();
      if (!isReplay) arrivals.push(arrival);
    },
    stop.signal,
  );
  const quiet = async (ms: number): Promise<void> => {
    while (performance.now() - last < ms) await delay(20);
  };
  await delay(200);
  await quiet(200);
  isReplay = false;
  await peer.prompt(prompt);
  await quiet(1000);
  stop.abort();
  await following;
  return arrivals;
}

async function benchStarts(binary: string, program: string, directory: string): Promise<Figure[]> {
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let start = 0; start < STARTS; start += 1) {
    const own = join(directory, `start-${start}`);
    await mkdir(own);
    let startedAt = performance.now();
    const healthy = async ({ turnd }: Stage): Promise<void> => {
      await turnd.request("GET", "/v1/health");
      ours.push(performance.now() - startedAt);
    };
    await withDaemon(own, healthy, program);
    startedAt = performance.now();
    await withPeer([binary], own, async () => {
      theirs.push(performance.now() - startedAt);
    });
  }
  const [own, other] = [percentile(ours, 0.5), percentile(theirs, 0.5)];
  return [
    {
      measure: `start to healthy, p50 of ${STARTS}`,
      turnd: `${own.toFixed(0)} ms`,
      yardstick: `${other.toFixed(0)} ms ${PEER}`,
      ratio: own / other,
    },
  ];
}

function compareMemory({ turnd }: Stage, peer: Peer): Figure {
  const [own, other] = [residentMiB(turnd.pid), residentMiB(peer.pid)];
  return {
    measure: "resident memory, idle",
    turnd: `${own.toFixed(0)} MiB`,
    yardstick: `${other.toFixed(0)} MiB ${PEER}`,
    ratio: own / other,
  };
}
