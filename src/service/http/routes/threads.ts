import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { Success } from "../../protocol/common.ts";
import { ActiveRun, Continued, Run, RunRequest } from "../../protocol/runs.ts";
import {
  CreateThreadBody,
  History,
  HistoryQuery,
  QueueView,
  Thread,
  ThreadList,
  ThreadListQuery,
  ThreadPath,
  UpdateThreadBody,
} from "../../protocol/threads.ts";
import type { Runs } from "../../runs/runs.ts";
import type { Threads } from "../../threads/threads.ts";
import { actorOf, callerOf } from "../callers.ts";
import { idempotencyKey, idempotent } from "../idempotency.ts";
import { refusals } from "../refusals.ts";

const tags = ["threads"];
const Queue = z
  .strictObject({ requests: z.array(RunRequest.extend({ content: z.string() })), queue: QueueView })
  .meta({ id: "ThreadQueue" });
const State = z
  .strictObject({ thread: Thread, queue: QueueView, active_run: Run.nullable() })
  .meta({ id: "ThreadState" });

/** Threads, and what waits in them. */
export const threadRoutes: FastifyPluginAsyncZod<{ threads: Threads; runs: Runs }> = async (app, { threads, runs }) => {
  const create = {
    tags,
    operationId: "createThread",
    summary: "Make a thread",
    description: "With a `request_id` a repeat gives the same thread.",
    body: CreateThreadBody,
    response: {
      200: Thread,
      ...refusals("agent_not_found", "agent_mismatch", "request_id_conflict", "thread_not_found"),
    },
  };
  app.post("/api/chat/thread", { ...idempotent, schema: create }, async (request) =>
    threads.create(callerOf(request), request.body, idempotencyKey(request, request.body.request_id)),
  );

  const list = {
    tags,
    operationId: "listThreads",
    summary: "List threads",
    description: "Pinned ones first, then the latest used. `q` looks in titles.",
    querystring: ThreadListQuery,
    response: { 200: ThreadList, ...refusals() },
  };
  app.get("/api/chat/threads", { schema: list }, async (request) => threads.list(callerOf(request), request.query));

  const of = { tags, params: ThreadPath };
  const get = {
    ...of,
    operationId: "getThread",
    summary: "Look at a thread",
    description: "`status` is the state of its queue.",
    response: { 200: Thread, ...refusals("thread_not_found") },
  };
  app.get("/api/chat/thread/:thread_id", { schema: get }, async (request) =>
    threads.get(callerOf(request), request.params.thread_id),
  );

  const update = {
    ...of,
    operationId: "updateThread",
    summary: "Change a thread",
    description: "Only fields that are given change.",
    body: UpdateThreadBody,
    response: { 200: Thread, ...refusals("thread_not_found") },
  };
  app.put("/api/chat/thread/:thread_id", { schema: update }, async (request) =>
    threads.update(callerOf(request), request.params.thread_id, request.body),
  );

  const remove = {
    ...of,
    operationId: "deleteThread",
    summary: "Delete a thread",
    description:
      "409 while a run blocks it. What waits is cancelled; a task `thread.delete` removes its runs, and its session and workspace at turnd. The id stays taken.",
    response: { 200: Success, ...refusals("thread_not_found", "thread_busy") },
  };
  app.delete("/api/chat/thread/:thread_id", { schema: remove }, async (request) => {
    await runs.deleteThread(actorOf(request), request.params.thread_id);
    return { success: true as const };
  });

  const history = {
    ...of,
    operationId: "getThreadHistory",
    summary: "Read the messages, oldest first",
    description: "`before` is a run id; without it the newest page.",
    querystring: HistoryQuery,
    response: { 200: History, ...refusals("thread_not_found") },
  };
  app.get("/api/chat/thread/:thread_id/history", { schema: history }, async (request) =>
    runs.history(callerOf(request), request.params.thread_id, request.query),
  );

  const state = {
    ...of,
    operationId: "getThreadState",
    summary: "Look at a thread, its queue and its run",
    description: "Thread, queue and the run that blocks it, in one call.",
    response: { 200: State, ...refusals("thread_not_found") },
  };
  app.get("/api/chat/thread/:thread_id/state", { schema: state }, async (request) => {
    const caller = callerOf(request);
    const { thread_id: id } = request.params;
    const { queue } = await runs.queue(caller, id);
    return { thread: await threads.get(caller, id), queue, active_run: await runs.activeRun(caller, id) };
  });

  const queue = {
    ...of,
    operationId: "getThreadQueue",
    summary: "Look at what waits in a thread",
    description: "In the order in which they will run.",
    response: { 200: Queue, ...refusals("thread_not_found") },
  };
  app.get("/api/agent/thread/:thread_id/requests", { schema: queue }, async (request) =>
    runs.queue(callerOf(request), request.params.thread_id),
  );

  const active = {
    ...of,
    operationId: "getActiveRun",
    summary: "Look at the run that blocks a thread",
    description: "`run` is null when nothing blocks the thread.",
    response: { 200: ActiveRun, ...refusals("thread_not_found") },
  };
  app.get("/api/agent/thread/:thread_id/active_run", { schema: active }, async (request) => ({
    run: await runs.activeRun(callerOf(request), request.params.thread_id),
  }));

  const resume = {
    ...of,
    operationId: "continueThread",
    summary: "Dispatch the next request of a paused thread",
    description: "After a failed or cancelled run the queue waits for this call.",
    response: { 200: Continued, ...refusals("thread_not_found", "queue_empty", "run_active", "run_interrupted") },
  };
  app.post("/api/agent/thread/:thread_id/requests/continue", { schema: resume }, async (request) =>
    runs.continueThread(actorOf(request), request.params.thread_id),
  );
};
