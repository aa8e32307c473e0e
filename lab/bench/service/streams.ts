import type { Figure } from "../figures.ts";
import { followEvents } from "../sse-client.ts";
import { cpuSeconds } from "./cpu-time.ts";
import { waitForEnd } from "./dispatch.ts";
import type { ServiceStage } from "./service-stage.ts";
import { makeThread, submit } from "./submission.ts";

const STREAMS = 20;
const LINES = 500;
const PACE_SECONDS = 0.01;

/** CPU of the service for one run that 20 clients follow, beside one that a single one follows. */
export async function benchStreams(given: ServiceStage): Promise<Figure> {
  // What is compiled on the way is compiled by then.
  await followRun(given, STREAMS);
  const one = await followRun(given, 1);
  const many = await followRun(given, STREAMS);
  return {
    measure: `${given.engine}: CPU of ${STREAMS} streams of one run, ${LINES} lines ${PACE_SECONDS * 1_000} ms apart`,
    turnd: `${many.toFixed(2)} s`,
    yardstick: `${one.toFixed(2)} s with one stream`,
    ratio: many / one,
    target: "<= 1.5",
  };
}

async function followRun({ caller, stage }: ServiceStage, streams: number): Promise<number> {
  const threadId = await makeThread(caller);
  const before = cpuSeconds(stage.service.pid());
  const { run_id: runId } = await submit(caller, threadId, `paced ${LINES} ${PACE_SECONDS}`);
  const url = `${stage.urls[0]}/api/agent/runs/${runId}/events?verbose=false`;
  const counts = await Promise.all(
    Array.from({ length: streams }, async () => {
      let count = 0;
      const onArrival = ({ frames }: { frames: readonly string[] }): void => {
        for (const frame of frames) if (frame.includes("event: messages")) count += 1;
      };
      await followEvents(url, () => 0, onArrival, { headers: caller.headers });
      return count;
    }),
  );
  const used = cpuSeconds(stage.service.pid()) - before;
  await waitForEnd(caller, runId ?? "");
  if (counts.some((count) => count !== LINES)) throw new Error(`${counts.join()} of ${LINES} lines arrived`);
  return used;
}
