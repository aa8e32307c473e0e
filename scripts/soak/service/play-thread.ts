import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Answer, Caller } from "./caller.ts";
import { inspectRun, type Asked, type Inspected } from "./inspect-run.ts";

/** Refusals that are right where two things happen at once. */
const RACES = new Set([
  "run_not_steerable",
  "steer_already_pending",
  "steer_in_progress",
  "request_already_dispatched",
  "request_not_queued",
  "queue_empty",
  "run_active",
  "run_interrupted",
  "queue_not_paused",
]);
const DRAIN_LIMIT_MS = 240_000;

/** One thread: random requests, steers, cancels and disconnects, until its queue is empty; then a look at every run. */
export async function playThread(caller: Caller): Promise<Inspected[]> {
  const { random, counts } = caller;
  const { body: thread } = await expectOk(caller, "POST", "/api/chat/thread", { agent_id: "cli-b" });
  const asked: Asked[] = [];
  const submit = async (isEndless: boolean, policy: string): Promise<Answer> => {
    const request = describeRequest(caller, isEndless);
    const answer = await submitTwice(caller, thread.id, request, policy);
    if (answer.status === 200 && answer.body.status !== "rejected") asked.push(request);
    return answer;
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
    await expectOk(caller, "POST", `/api/agent/requests/${last.requestId}/cancel`);
  }
  if (willStop || random.chance(0.1)) {
    await delay(random.between(0, 1_000));
    counts.cancels += 1;
    await expectOk(caller, "POST", `/api/agent/runs/${first.body.run_id}/cancel`);
  }
  await drain(caller, thread.id);
  const inspected: Inspected[] = [];
  for (const request of asked) inspected.push(await inspectRequest(caller, request));
  return inspected;
}

async function inspectRequest(caller: Caller, asked: Asked): Promise<Inspected> {
  const { body } = await expectOk(caller, "GET", `/api/agent/requests/${asked.requestId}`);
  const { status, run_id: runId } = body.request;
  if (typeof runId === "string") return inspectRun(caller, runId, asked);
  const faults = status === "cancelled" ? [] : [`request ${asked.requestId} is ${status} without a run`];
  return { ending: `request ${status}`, faults };
}

/** Waits until nothing of the thread runs or waits; a queue that is paused is continued. */
async function drain(caller: Caller, threadId: string): Promise<void> {
  const deadline = performance.now() + DRAIN_LIMIT_MS;
  for (;;) {
    const { body } = await expectOk(caller, "GET", `/api/agent/thread/${threadId}/requests`);
    if (body.queue.status === "idle") return;
    if (performance.now() > deadline) {
      throw new Error(`thread ${threadId} is ${JSON.stringify(body.queue)} after ${DRAIN_LIMIT_MS} ms`);
    }
    if (body.queue.can_continue) await expectOk(caller, "POST", `/api/agent/thread/${threadId}/requests/continue`);
    else await delay(200);
  }
}

/** Sends a request, and sometimes again: the answer must be of the same request and run. */
async function submitTwice(caller: Caller, threadId: string, asked: Asked & Script, policy: string): Promise<Answer> {
  const { counts, random } = caller;
  const body = {
    agent_slug: "cli-b",
    thread_id: threadId,
    query: asked.query,
    queue_policy: policy,
    meta: { request_id: asked.requestId },
  };
  counts.requests += 1;
  const answer = await expectOk(caller, "POST", "/api/agent/runs", body);
  if (answer.status === 200 && random.chance(0.25)) {
    const again = await expectOk(caller, "POST", "/api/agent/runs", body);
    const before: unknown = answer.body.run_id;
    if (before !== null && again.body.run_id !== before) {
      throw new Error(`request ${asked.requestId} is run ${String(before)} and run ${again.body.run_id}`);
    }
  }
  return answer;
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

/** A call that is answered with 200, or with a refusal that a race explains. */
export async function expectOk(caller: Caller, method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await caller.call(method, path, body);
  const code: unknown = answer.body?.detail?.code;
  if (answer.status === 200 || (answer.status === 409 && typeof code === "string" && RACES.has(code))) return answer;
  throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
}
