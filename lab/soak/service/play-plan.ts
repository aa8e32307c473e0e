import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { Submission } from "../../../src/service/protocol/runs.ts";
import { QueueView, Thread } from "../../../src/service/protocol/threads.ts";
import { ask, type Caller } from "./caller.ts";
import { startWait } from "./wait-limit.ts";
import { inspectRun, type Inspected } from "./inspect-run.ts";

/** The agent whose runs stop for a decision about their plan. */
export const PLANNER = "soak-planner";

const Queue = z.object({ queue: QueueView });

/** A plan, and what a person may do with it: approve it (twice, as a client that retries), reject it, or cancel it. */
export async function playPlan(caller: Caller): Promise<Inspected[]> {
  const { random, counts, stage } = caller;
  const { id: threadId } = await ask(caller, Thread, ["POST", "/api/chat/thread", { agent_id: PLANNER }]);
  const witnessOf = (id: string): string => join(stage.workspace, `ran-${id}`);
  const requestId = randomUUID();
  counts.requests += 1;
  const request = {
    agent_slug: PLANNER,
    thread_id: threadId,
    query: `touch ${witnessOf(requestId)}\na plan`,
    meta: { request_id: requestId },
  };
  const { run_id: parent } = await ask(caller, Submission, ["POST", "/api/agent/runs", request]);
  if (parent === null) return [{ ending: "none", faults: [`a plan on an idle thread has no run: ${requestId}`] }];
  const plan = await inspectRun(caller, parent, { requestId, witness: witnessOf(requestId), mayFail: false });
  if (plan.ending !== "interrupted") plan.faults.push(`run ${parent} made a plan and is ${plan.ending}`);
  if (random.chance(0.3)) {
    counts.cancels += 1;
    await ask(caller, z.unknown(), ["POST", `/api/agent/runs/${parent}/cancel`]);
    return [plan, await expectIdle(caller, threadId)];
  }
  const mark = randomUUID();
  const decision = random.chance(0.2)
    ? { type: "reject" }
    : { type: "approve", message: `touch ${witnessOf(mark)}\ndone` };
  const resume = {
    agent_slug: PLANNER,
    thread_id: threadId,
    created_by_run_id: parent,
    resume: { decisions: [decision] },
  };
  counts.resumes += 1;
  const [one, other] = await Promise.all([
    ask(caller, Submission, ["POST", "/api/agent/runs", resume]),
    ask(caller, Submission, ["POST", "/api/agent/runs", resume]),
  ]);
  if (one.run_id === null || one.run_id !== other.run_id) {
    return [{ ending: "none", faults: [`one resume of ${parent} gave ${one.run_id} and ${other.run_id}`] }];
  }
  const asked = { requestId: one.request_id, witness: witnessOf(mark), mayFail: false };
  return [plan, await inspectRun(caller, one.run_id, asked), await expectIdle(caller, threadId)];
}

async function expectIdle(caller: Caller, threadId: string): Promise<Inspected> {
  const isTooLate = startWait(caller.stage);
  for (;;) {
    const { queue } = await ask(caller, Queue, ["GET", `/api/agent/thread/${threadId}/requests`]);
    if (queue.status === "idle") return { ending: "thread idle", faults: [] };
    if (isTooLate()) {
      return { ending: "thread busy", faults: [`thread ${threadId} is ${JSON.stringify(queue)}`] };
    }
    await delay(200);
  }
}
