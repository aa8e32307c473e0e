import { z } from "zod";
import { Submission } from "../../../src/service/api/runs.ts";
import { Thread } from "../../../src/service/api/threads.ts";
import { ask } from "../../soak/service/caller.ts";
import { percentile, type Figure } from "../figures.ts";
import { measureCommit } from "./bare-commits.ts";
import type { ServiceStage } from "./service-stage.ts";

const REQUESTS = 80;

/** Milliseconds from a request's POST to its answer, in a thread where it waits, beside a bare insert and commit. */
export async function benchSubmission({ engine, caller, yardstick }: ServiceStage): Promise<Figure> {
  const { id: threadId } = await ask(caller, Thread, ["POST", "/api/chat/thread", { agent_id: "cli-b" }]);
  const submit = (query: string): Promise<Submission> =>
    ask(caller, Submission, ["POST", "/api/agent/runs", { agent_slug: "cli-b", thread_id: threadId, query }]);
  const { run_id: blocking } = await submit("hang");
  const times: number[] = [];
  for (let count = 0; count < REQUESTS; count += 1) {
    const startedAt = performance.now();
    await submit("a few words");
    times.push(performance.now() - startedAt);
  }
  await ask(caller, z.unknown(), ["POST", `/api/agent/runs/${blocking}/cancel`]);
  const [ours, commit] = [percentile(times, 0.5), await measureCommit(yardstick)];
  const bound = 4 * commit + 2;
  return {
    measure: `${engine}: submission, POST to answer, p50 of ${REQUESTS}`,
    turnd: `${ours.toFixed(1)} ms`,
    yardstick: `${bound.toFixed(1)} ms, 4 inserts with commit + 2 ms`,
    ratio: ours / bound,
    target: "<= 1",
  };
}
