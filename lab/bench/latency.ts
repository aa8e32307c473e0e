import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { z } from "zod";
import { createClock } from "./clock.ts";
import { percentile, type Figure } from "./figures.ts";
import { messageOf, runTurn, type Stage } from "./stage.ts";

const LINES = 1000;
const PACE_SECONDS = 0.005;

/** From the CLI's write to the SSE client, beside a thread that only watches the same file in the same run. */
export async function benchLatency(stage: Stage): Promise<Figure[]> {
  const now = createClock();
  const seen: number[] = [];
  let reader: Promise<number[]> | undefined;
  await runTurn(stage, `stamped ${LINES} ${PACE_SECONDS}`, {
    now,
    onAdmitted({ session_id, turn_id }) {
      reader = watchBarely(join(stage.turnd.state, "sessions", session_id, "turns", turn_id, "stdout.jsonl"));
    },
    onArrival({ at, frames }) {
      for (const frame of frames) {
        const text = messageOf(frame);
        if (text !== undefined) seen.push(at - Number(text) * 1000);
      }
    },
  });
  const read = (await reader) ?? [];
  if (seen.length !== LINES || read.length < LINES / 2)
    throw new Error(`${seen.length} and ${read.length} of ${LINES}`);
  return [0.5, 0.95, 0.99].map((share) => {
    const [ours, theirs] = [percentile(seen, share), percentile(read, share)];
    return {
      measure: `CLI line to SSE client, ${LINES} lines ${PACE_SECONDS * 1000} ms apart, p${share * 100}`,
      turnd: `${ours.toFixed(2)} ms`,
      yardstick: `${theirs.toFixed(2)} ms reading the file`,
      ratio: ours / theirs,
      ...(share === 0.5 ? { target: "<= 1 ms" } : {}),
    };
  });
}

async function watchBarely(path: string): Promise<number[]> {
  const worker = new Worker(new URL("plain-reader.ts", import.meta.url), { workerData: path });
  try {
    return z.tuple([z.array(z.number())]).parse(await once(worker, "message"))[0];
  } finally {
    await worker.terminate();
  }
}
