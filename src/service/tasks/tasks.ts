import { sql } from "kysely";
import { ApiProblem } from "../protocol/problems.ts";
import { TaskError, type Task, type TaskStatus } from "../protocol/tasks.ts";
import type { Storage } from "../storage/storage.ts";
import type { Queries, Transaction } from "../storage/transaction.ts";
import type { TaskRow } from "./start-task.ts";

/** Who looks: users see their own tasks and those on knowledge bases they manage, superadmins all. */
export interface TaskReader {
  readonly userId: number;
  readonly seesAll: boolean;
  readonly knowledgeBaseIds?: readonly string[];
}

/** What callers do with tasks. */
export type Tasks = ReturnType<typeof createTasks>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function createTasks(storage: Storage) {
  return {
    /** Newest first. */
    async list(
      reader: TaskReader,
      filter: { kind?: string | undefined; status?: TaskStatus | undefined; skip: number; limit: number },
    ): Promise<{ tasks: Task[]; total: number }> {
      let query = visible(storage.db, reader);
      if (filter.kind !== undefined) query = query.where("kind", "=", filter.kind);
      if (filter.status !== undefined) query = query.where("status", "=", filter.status);
      const rows = await query.selectAll().orderBy("id", "desc").offset(filter.skip).limit(filter.limit).execute();
      const { total } = await query.select(sql<number>`count(*)::int`.as("total")).executeTakeFirstOrThrow();
      return { tasks: rows.map(showTask), total };
    },

    async get(reader: TaskReader, id: string): Promise<Task> {
      return showTask(await find(storage.db, reader, id));
    },

    /**
     * Asks for a task's end: a waiting one ends at once, a running one when its handler has stopped. Safe to repeat.
     *
     * @param alongside - written in the same transaction when something has changed
     */
    async cancel(
      reader: TaskReader,
      id: string,
      alongside: (trx: Transaction, task: TaskRow) => Promise<void>,
    ): Promise<Task> {
      const row = await storage.transaction(async (trx) => {
        const known = await find(trx, reader, id, "for update");
        const isOpen = known.status === "pending" || known.status === "running";
        if (!isOpen || known.cancel_requested) return known;
        const changed = await trx
          .updateTable("task")
          .set({
            cancel_requested: true,
            updated_at: sql<Date>`now()`,
            ...(known.status === "pending" ? { status: "cancelled" as const, completed_at: sql<Date>`now()` } : {}),
          })
          .where("id", "=", known.id)
          .returningAll()
          .executeTakeFirstOrThrow();
        await sql`select pg_notify('svc_control', ${known.id})`.execute(trx);
        await alongside(trx, changed);
        return changed;
      });
      return showTask(row);
    },

    /** @throws {ApiProblem} task_not_ended */
    async remove(reader: TaskReader, id: string): Promise<void> {
      await storage.transaction(async (trx) => {
        const { id: found, status } = await find(trx, reader, id, "for update");
        if (status === "pending" || status === "running")
          throw new ApiProblem("task_not_ended", "only a task that has ended can be deleted: cancel it first", {
            status,
          });
        await trx.deleteFrom("task").where("id", "=", found).execute();
      });
    },
  };
}

function visible(db: Queries | Transaction, { userId, seesAll, knowledgeBaseIds = [] }: TaskReader) {
  const query = db.selectFrom("task");
  if (seesAll) return query;
  if (knowledgeBaseIds.length === 0) return query.where("user_id", "=", userId);
  return query.where((where) =>
    where.or([
      where("user_id", "=", userId),
      where.and([
        where("kind", "like", "knowledge\\_%"),
        where(sql<string>`payload ->> 'kb_id'`, "in", [...knowledgeBaseIds]),
      ]),
    ]),
  );
}

/** @throws {ApiProblem} task_not_found: another's is not there (law: not yours is not there) */
async function find(db: Queries | Transaction, reader: TaskReader, id: string, mode?: "for update"): Promise<TaskRow> {
  let query = visible(db, reader).selectAll().where("id", "=", id);
  if (mode !== undefined) query = query.forUpdate();
  const row = UUID.test(id) ? await query.executeTakeFirst() : undefined;
  if (row === undefined) throw new ApiProblem("task_not_found", `there is no task ${JSON.stringify(id)}`);
  return row;
}

function showTask(row: TaskRow): Task {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    user_id: row.user_id,
    status: row.status,
    progress: row.progress,
    message: row.message,
    cancel_requested: row.cancel_requested,
    result: row.result,
    error: row.error === null ? null : TaskError.parse(row.error),
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    completed_at: row.completed_at?.toISOString() ?? null,
    updated_at: row.updated_at.toISOString(),
  };
}
