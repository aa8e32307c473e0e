import { setTimeout as delay } from "node:timers/promises";
import { Continued, RequestAnswer, RunAnswer, Submission, type Run } from "../../../src/service/protocol/runs.ts";
import { expectThat } from "../expect-that.ts";
import { followRun } from "./follow-run.ts";
import type { ServiceClient } from "./service-client.ts";

const START_LIMIT_MS = 120_000;
// The marker is the scripted model's; any other model reads the sentence.
const LONG = "Run `sleep 240` in a shell and wait for it. @@sleep:240@@";
const SHORT = "Say hello in one short sentence, without any tool. @@text@@";

/** A thread is one queue: while a run works, one request waits, another is rejected; then the run is cancelled. */
export async function playQueue(client: ServiceClient, threadId: string): Promise<void> {
  const submit = (query: string, policy: string): Promise<Submission> =>
    client.post(Submission, "/api/agent/runs", {
      agent_slug: "cli-b",
      thread_id: threadId,
      query,
      queue_policy: policy,
    });
  const long = await submit(LONG, "enqueue");
  const runId = long.run_id ?? "";
  await waitUntilRunning(client, runId);
  console.log(`  ✓ a long run works: ${runId}`);

  const waiting = await submit(SHORT, "enqueue");
  const isQueued = waiting.status === "queued" && waiting.queue_position === 1 && waiting.run_id === null;
  expectThat(isQueued, "the next request waits at position 1", JSON.stringify(waiting));
  console.log(`  ✓ queue_policy enqueue: request ${waiting.request_id} is queued, position ${waiting.queue_position}`);

  const rejected = await submit(SHORT, "reject");
  const isRejected = rejected.status === "rejected" && rejected.error?.["active_run_id"] === runId;
  expectThat(isRejected, "a request with policy reject is rejected", JSON.stringify(rejected));
  console.log(`  ✓ queue_policy reject: rejected, ${rejected.error?.code}, the active run is ${runId}`);

  await client.post(RunAnswer, `/api/agent/runs/${runId}/cancel`);
  const { result, events } = await followRun(client, runId, Infinity);
  expectThat(result.status === "cancelled", "the run ends as cancelled", result.status);
  console.log(`  ✓ cancelled, and confirmed by the end of its turn: the last of ${events.length} events is \`end\``);

  const path = `/api/agent/requests/${waiting.request_id}`;
  const { request } = await client.get(RequestAnswer, path);
  expectThat(request.status === "queued", "after a cancelled run what waits is paused", request.status);
  const next = await client.post(Continued, `/api/agent/thread/${threadId}/requests/continue`);
  expectThat(next.request_id === waiting.request_id, "continue dispatches the request that waited", next.request_id);
  const last = await followRun(client, next.run_id, Infinity);
  expectThat(last.result.status === "completed", "it completes", JSON.stringify(last.result));
  console.log("  ✓ the queue was paused; `continue` let the waiting request run, and it completed");
}

async function waitUntilRunning({ get, signal }: ServiceClient, runId: string): Promise<void> {
  const deadline = performance.now() + START_LIMIT_MS;
  for (;;) {
    const { run } = await get(RunAnswer, `/api/agent/runs/${runId}`);
    if (run.status === "running" && run.last_seq > 1) return;
    expectThat(performance.now() < deadline && !hasEnded(run), "the long run starts", run.status);
    await delay(100, undefined, { signal });
  }
}

function hasEnded({ ended_at }: Run): boolean {
  return ended_at !== null;
}
