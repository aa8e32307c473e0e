import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { RequestAnswer, Submission } from "../../../src/service/protocol/runs.ts";
import { QueueView, Thread } from "../../../src/service/protocol/threads.ts";
import { ask, tryTo, type Caller } from "./caller.ts";
import { startWait } from "./wait-limit.ts";
import { inspectRun, type Asked, type Inspected } from "./inspect-run.ts";

const Any = z.unknown();
const Queue = z.object({ queue: QueueView });

/** One thread: random requests, steers, cancels and disconnects, until its queue is empty; then a look at every run. */
export async function playThread(caller: Caller): Promise<Inspected[]> {
  const { random, counts } = caller;
  const { id: threadId } = await ask(caller, Thread, ["POST", "/api/chat/thread", { agent_id: "cli-b" }]);
  const asked: Asked[] = [];
  const submit = async (isEndless: boolean, policy: string): Promise<Submission | undefined> => {
    const request = describeRequest(caller, isEndless);
    const submission = await submitTwice(caller, threadId, request, policy);
    if (submission !== undefined && submission.status !== "rejected") asked.push(request);
    return submission;
  };
  const willStop = random.chance(0.35);
  const first = await submit(willStop, "enqueue");
  for (let more = random.between(0, 3); more > 0; more -= 1) await submit(false, "enqueue");
  if (random.chance(0.2)) await submit(false, "reject");
  if (random.chance(0.3)) {
    await delay(random.between(0, 1_500));
    counts.steers += 1;
    await submit(false, "steer");
  }
  const last = asked.at(-1);
  if (last !== undefined && random.chance(0.15)) {
    counts.cancels += 1;
    await tryTo(caller, Any, ["POST", `/api/agent/requests/${last.requestId}/cancel`]);
  }
  if (willStop || random.chance(0.1)) {
    await delay(random.between(0, 1_000));
    counts.cancels += 1;
    await ask(caller, Any, ["POST", `/api/agent/runs/${first?.run_id ?? "none"}/cancel`]);
  }
  await drain(caller, threadId);
  const inspected: Inspected[] = [];
  for (const request of asked) inspected.push(await inspectRequest(caller, request));
  return inspected;
}

async function inspectRequest(caller: Caller, asked: Asked): Promise<Inspected> {
  const { request } = await ask(caller, RequestAnswer, ["GET", `/api/agent/requests/${asked.requestId}`]);
  if (request.run_id !== null) return inspectRun(caller, request.run_id, asked);
  const faults =
    request.status === "cancelled" ? [] : [`request ${asked.requestId} is ${request.status} without a run`];
  return { ending: `request ${request.status}`, faults };
}

/** Waits until nothing of the thread runs or waits; a queue that is paused is continued. */
async function drain(caller: Caller, threadId: string): Promise<void> {
  const isTooLate = startWait(caller.stage);
  const path = `/api/agent/thread/${threadId}/requests`;
  for (;;) {
    const { queue } = await ask(caller, Queue, ["GET", path]);
    if (queue.status === "idle") return;
    if (isTooLate()) {
      throw new Error(`thread ${threadId} is ${JSON.stringify(queue)} and stays so`);
    }
    if (queue.can_continue) await tryTo(caller, Any, ["POST", `${path}/continue`]);
    else await delay(200);
  }
}

/** Sends a request, and sometimes again: the answer must be of the same run. @returns undefined where a race refused it */
async function submitTwice(
  caller: Caller,
  threadId: string,
  asked: Asked & Script,
  policy: string,
): Promise<Submission | undefined> {
  const { counts, random } = caller;
  const body = {
    agent_slug: "cli-b",
    thread_id: threadId,
    query: asked.query,
    queue_policy: policy,
    meta: { request_id: asked.requestId },
  };
  counts.requests += 1;
  const submission = await tryTo(caller, Submission, ["POST", "/api/agent/runs", body]);
  if (submission !== undefined && random.chance(0.25)) {
    const again = await ask(caller, Submission, ["POST", "/api/agent/runs", body]);
    const isSame = submission.run_id === null || submission.run_id === again.run_id;
    if (!isSame) throw new Error(`request ${asked.requestId} is run ${submission.run_id} and run ${again.run_id}`);
  }
  return submission;
}

interface Script {
  readonly query: string;
}

function describeRequest({ random, stage }: Caller, isEndless: boolean): Asked & Script {
  const requestId = randomUUID();
  const witness = join(stage.workspace, `ran-${requestId}`);
  const lines = [`touch ${witness}`];
  for (let count = random.between(0, 3); count > 0; count -= 1) {
    lines.push(
      random.pick([
        "a message",
        "tool ls",
        `burst ${random.between(1, 400)}`,
        `paced ${random.between(1, 30)} 0.05`,
        `sleep 0.${random.between(1, 9)}`,
        "stderr something odd",
        "raw this is no record",
      ]),
    );
  }
  const end = isEndless ? "hang" : random.pick(["the end", "the end", "the end", "the end", "exit 3", "kill-self"]);
  lines.push(end);
  return { requestId, witness, mayFail: end === "exit 3" || end === "kill-self", query: lines.join("\n") };
}
