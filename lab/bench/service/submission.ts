import { z } from "zod";
import { Submission } from "../../../src/service/protocol/runs.ts";
import { Thread } from "../../../src/service/protocol/threads.ts";
import { ask, type Caller } from "../../soak/service/caller.ts";
import { percentile, type Figure } from "../figures.ts";
import { measureCommit } from "./bare-commits.ts";
import type { ServiceStage } from "./service-stage.ts";

const THREADS = 5;
const WARM_UP = 20;
const REQUESTS = 60;

/** Milliseconds from a request's POST to its answer, in threads where it waits, beside a bare insert and commit. */
export async function benchSubmission({ engine, caller, yardstick }: ServiceStage): Promise<Figure> {
  const blocked: { threadId: string; runId: string | null }[] = [];
  for (let count = 0; count < THREADS; count += 1) {
    const threadId = await makeThread(caller);
    blocked.push({ threadId, runId: (await submit(caller, threadId, "hang")).run_id });
  }
  const times: number[] = [];
  for (let round = -WARM_UP; round < REQUESTS; round += 1) {
    for (const { threadId } of blocked) {
      const startedAt = performance.now();
      await submit(caller, threadId, "a few words");
      if (round >= 0) times.push(performance.now() - startedAt);
    }
  }
  for (const { runId } of blocked) await ask(caller, z.unknown(), ["POST", `/api/agent/runs/${runId}/cancel`]);
  const [p50, { p50Ms: commit }] = [percentile(times, 0.5), await measureCommit(yardstick)];
  const bound = 4 * commit + 2;
  return {
    measure: `${engine}: submission, POST to answer, p50 of ${times.length}`,
    turnd: `${p50.toFixed(2)} ms`,
    yardstick: `${bound.toFixed(2)} ms, 4 bare commits + 2 ms`,
    ratio: p50 / bound,
    target: "<= 1",
  };
}

export async function makeThread(caller: Caller): Promise<string> {
  return (await ask(caller, Thread, ["POST", "/api/chat/thread", { agent_id: "cli-b" }])).id;
}

export function submit(caller: Caller, threadId: string, query: string): Promise<Submission> {
  return ask(caller, Submission, ["POST", "/api/agent/runs", { agent_slug: "cli-b", thread_id: threadId, query }]);
}
