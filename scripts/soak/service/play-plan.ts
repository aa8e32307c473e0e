import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Caller } from "./caller.ts";
import { inspectRun, type Inspected } from "./inspect-run.ts";
import { expectOk } from "./play-thread.ts";

/** The agent whose runs stop for a decision about their plan. */
export const PLANNER = "soak-planner";

const WAIT_LIMIT_MS = 240_000;

/** A plan, and what a person may do with it: approve it (twice, as a client that retries), plan again, or give it up. */
export async function playPlan(caller: Caller): Promise<Inspected[]> {
  const { random, counts, stage } = caller;
  const { body: thread } = await expectOk(caller, "POST", "/api/chat/thread", { agent_id: PLANNER });
  const witnessOf = (id: string): string => join(stage.workspace, `ran-${id}`);
  const requestId = randomUUID();
  counts.requests += 1;
  const { body: submitted } = await expectOk(caller, "POST", "/api/agent/runs", {
    agent_slug: PLANNER,
    thread_id: thread.id,
    query: `touch ${witnessOf(requestId)}\na plan`,
    meta: { request_id: requestId },
  });
  const parent: string = submitted.run_id;
  const inspected = [await inspectRun(caller, parent, { requestId, witness: witnessOf(requestId), mayFail: false })];
  if (random.chance(0.3)) {
    counts.cancels += 1;
    await expectOk(caller, "POST", `/api/agent/runs/${parent}/cancel`);
    return [...inspected, await expectIdle(caller, thread.id)];
  }
  const mark = randomUUID();
  const decision = random.chance(0.2)
    ? { type: "reject" }
    : { type: "approve", message: `touch ${witnessOf(mark)}\ndone` };
  const resume = {
    agent_slug: PLANNER,
    thread_id: thread.id,
    created_by_run_id: parent,
    resume: { decisions: [decision] },
  };
  counts.resumes += 1;
  const both = await Promise.all([
    expectOk(caller, "POST", "/api/agent/runs", resume),
    expectOk(caller, "POST", "/api/agent/runs", resume),
  ]);
  const [runId, other] = both.map(({ body }) => String(body.run_id));
  if (runId === undefined || runId !== other) {
    return [{ ending: "resumed", faults: [`one resume of ${parent} gave ${runId} and ${other}`] }];
  }
  const asked = { requestId: String(both[0].body.request_id), witness: witnessOf(mark), mayFail: false };
  return [...inspected, await inspectRun(caller, runId, asked), await expectIdle(caller, thread.id)];
}

async function expectIdle(caller: Caller, threadId: string): Promise<Inspected> {
  const deadline = performance.now() + WAIT_LIMIT_MS;
  for (;;) {
    const { body } = await expectOk(caller, "GET", `/api/agent/thread/${threadId}/requests`);
    if (body.queue.status === "idle") return { ending: "thread idle", faults: [] };
    if (performance.now() > deadline) {
      return { ending: "thread busy", faults: [`thread ${threadId} is ${JSON.stringify(body.queue)}`] };
    }
    await delay(200);
  }
}
