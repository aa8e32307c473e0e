import { TurnAdmission } from "../../src/turnd/protocol/index.ts";
import { createClock } from "./clock.ts";
import { percentile, type Figure } from "./figures.ts";
import { followEvents, type Arrival } from "./sse-client.ts";
import { messageOf, type Stage } from "./stage.ts";

const READERS = 20;
const LINES = 1000;
const PACE_SECONDS = 0.005;
/** One after the other, so that both see the same moods of the machine. */
const ROUNDS = 2;

/** From the CLI's write to each of many SSE clients of one turn, beside the same with one client in the same run. */
export async function benchReaders(stage: Stage): Promise<Figure> {
  const now = createClock();
  const [one, many]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    one.push(...(await followTogether(stage, 1, now)));
    many.push(...(await followTogether(stage, READERS, now)));
  }
  const [ours, alone] = [percentile(many, 0.5), percentile(one, 0.5)];
  return {
    measure: `CLI line to each of ${READERS} SSE clients, p50`,
    turnd: `${ours.toFixed(2)} ms`,
    yardstick: `${alone.toFixed(2)} ms to one`,
    ratio: ours / alone,
    target: "<= 2",
  };
}

/** @returns milliseconds, for each line at each client */
async function followTogether({ turnd }: Stage, readers: number, now: () => number): Promise<number[]> {
  const input = `stamped ${LINES} ${PACE_SECONDS}`;
  const { turn_id } = TurnAdmission.parse(await turnd.admit({ executor: "cli-b", input }));
  const arrivals: Arrival[] = [];
  // Parsed when all have come: 20 clients that parse would be measured themselves.
  const read = (): Promise<void> =>
    followEvents(`${turnd.url}/v1/turns/${turn_id}/events`, now, (arrival) => void arrivals.push(arrival));
  await Promise.all(Array.from({ length: readers }, read));
  const latencies = arrivals.flatMap(({ at, frames }) =>
    frames.flatMap((frame) => {
      const text = messageOf(frame);
      return text === undefined ? [] : [at - Number(text) * 1000];
    }),
  );
  if (latencies.length !== readers * LINES) throw new Error(`${latencies.length} of ${readers * LINES} lines arrived`);
  return latencies;
}
