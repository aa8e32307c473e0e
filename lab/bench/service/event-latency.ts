import { z } from "zod";
import { RunAnswer, Submission } from "../../../src/service/protocol/runs.ts";
import { Thread } from "../../../src/service/protocol/threads.ts";
import { ask, type Caller } from "../../soak/service/caller.ts";
import { createClock } from "../clock.ts";
import { percentile, type Figure } from "../figures.ts";
import { messageOf } from "../stage.ts";
import { followEvents, type Arrival } from "../sse-client.ts";
import { measureCommit } from "./bare-commits.ts";
import type { ServiceStage } from "./service-stage.ts";

const LINES = 200;
const PACE_SECONDS = 0.02;

const Sent = z.object({
  payload: z.object({
    name: z.string().optional(),
    turn_id: z.string().optional(),
    items: z.array(z.unknown()).optional(),
  }),
});
const Message = z.object({ type: z.literal("message"), content: z.string().regex(/^\d+\.\d+$/) });

/** From the CLI's write to a client of the service, beside a client of turnd that follows the same turn, and 3 commits. */
export async function benchEventLatency({ engine, stage, caller, yardstick }: ServiceStage): Promise<Figure> {
  const now = createClock();
  const { id: threadId } = await ask(caller, Thread, ["POST", "/api/chat/thread", { agent_id: "cli-b" }]);
  const query = `sleep 1\nstamped ${LINES} ${PACE_SECONDS}`;
  const body = { agent_slug: "cli-b", thread_id: threadId, query };
  const { run_id: runId } = await ask(caller, Submission, ["POST", "/api/agent/runs", body]);
  const turnds: number[] = [];
  let following: Promise<void> | undefined;
  const ours = await follow(caller, runId ?? "", now, (turnId) => {
    following = followEvents(`${stage.turndUrl}/v1/turns/${turnId}/events`, now, ({ at, frames }) => {
      for (const frame of frames) {
        const text = messageOf(frame);
        if (text !== undefined && /^\d+\.\d+$/.test(text)) turnds.push(at - Number(text) * 1000);
      }
    });
  });
  await following;
  const { run } = await ask(caller, RunAnswer, ["GET", `/api/agent/runs/${runId}`]);
  if (run.status !== "completed" || ours.length !== LINES || turnds.length < LINES / 2) {
    throw new Error(`${run.status}: ${ours.length} and ${turnds.length} of ${LINES}`);
  }
  const commit = await measureCommit(yardstick);
  const [p50, bound] = [percentile(ours, 0.5), percentile(turnds, 0.5) + 3 * commit.p50Ms];
  return {
    measure: `${engine}: CLI line to client of the service, ${LINES} lines ${PACE_SECONDS * 1000} ms apart, p50`,
    turnd: `${p50.toFixed(2)} ms`,
    yardstick: `${bound.toFixed(2)} ms, turnd's client ${percentile(turnds, 0.5).toFixed(2)} ms + 3 bare commits`,
    ratio: p50 / bound,
    target: "<= 1",
  };
}

/** Through the same client as turnd's, so that both pay as much for it. */
async function follow(
  { stage, headers }: Caller,
  runId: string,
  now: () => number,
  onTurn: (turnId: string) => void,
): Promise<number[]> {
  const latencies: number[] = [];
  const url = `${stage.urls[0]}/api/agent/runs/${runId}/events`;
  const onArrival = ({ at, frames }: Arrival): void => {
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data === undefined) continue;
      const { payload } = Sent.parse(JSON.parse(data));
      if (payload.name === "svc.turn" && payload.turn_id !== undefined) onTurn(payload.turn_id);
      for (const item of payload.items ?? []) {
        const message = Message.safeParse(item).data;
        if (message !== undefined) latencies.push(at - Number(message.content) * 1000);
      }
    }
  };
  await followEvents(url, now, onArrival, { headers });
  return latencies;
}
