import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { Success } from "../../protocol/common.ts";
import { TaskAnswer, TaskList, TaskListQuery, TaskPath } from "../../protocol/tasks.ts";
import { writeAudit } from "../../auth/audit.ts";
import type { Caller } from "../../auth/caller.ts";
import { mayAll, PERMISSIONS } from "../../auth/permissions.ts";
import type { Knowledge } from "../../knowledge/knowledge.ts";
import type { TaskReader, Tasks } from "../../tasks/tasks.ts";
import { actorOf, callerOf } from "../callers.ts";
import { refusals } from "../refusals.ts";

const tags = ["tasks"];

/** Background work: one's own, that on knowledge bases one manages, and all of it for superadmins. */
export const taskRoutes: FastifyPluginAsyncZod<{ tasks: Tasks; knowledge: Knowledge }> = async (
  app,
  { tasks, knowledge },
) => {
  async function readerOf(caller: Caller): Promise<TaskReader> {
    const { userId } = caller;
    if (mayAll(caller, PERMISSIONS.manageTasks)) return { userId, seesAll: true, knowledgeBaseIds: [] };
    return { userId, seesAll: false, knowledgeBaseIds: await knowledge.managedIds(caller) };
  }

  const list = {
    tags,
    operationId: "listTasks",
    summary: "List tasks, newest first",
    description: "The caller's own and those on knowledge bases one manages; superadmins see all.",
    querystring: TaskListQuery,
    response: { 200: TaskList, ...refusals() },
  };
  app.get("/api/tasks", { schema: list }, async (request) =>
    tasks.list(await readerOf(callerOf(request)), request.query),
  );

  const of = { tags, params: TaskPath };
  const get = {
    ...of,
    operationId: "getTask",
    summary: "Look at a task",
    description: "Progress, checkpoint and result of background work.",
    response: { 200: TaskAnswer, ...refusals("task_not_found") },
  };
  app.get("/api/tasks/:task_id", { schema: get }, async (request) => ({
    task: await tasks.get(await readerOf(callerOf(request)), request.params.task_id),
  }));

  const cancel = {
    ...of,
    operationId: "cancelTask",
    summary: "Cancel a task",
    description: "It ends at its next step; a task that has ended stays as it is.",
    response: { 200: TaskAnswer, ...refusals("task_not_found") },
  };
  app.post("/api/tasks/:task_id/cancel", { schema: cancel }, async (request) => {
    const actor = actorOf(request);
    const task = await tasks.cancel(await readerOf(actor.caller), request.params.task_id, async (trx, row) => {
      if (row.user_id === actor.caller.userId) return;
      await writeAudit(trx, actor, { action: "task.cancelled", subject: `task:${row.id}` });
    });
    return { task };
  });

  const remove = {
    ...of,
    operationId: "deleteTask",
    summary: "Delete a task that has ended",
    description: "409 while it has not ended.",
    response: { 200: Success, ...refusals("task_not_found", "task_not_ended") },
  };
  app.delete("/api/tasks/:task_id", { schema: remove }, async (request) => {
    await tasks.remove(await readerOf(callerOf(request)), request.params.task_id);
    return { success: true as const };
  });
};
