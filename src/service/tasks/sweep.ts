import { sql } from "kysely";
import type { Storage } from "../storage/storage.ts";
import { groupOf } from "./start-task.ts";

/** Deletes tasks that ended long ago. @returns how many */
export async function deleteExpiredTasks(storage: Storage, retentionMs: number): Promise<number> {
  const { numDeletedRows } = await storage.db
    .deleteFrom("task")
    .where("completed_at", "<", sql<Date>`now() - ${retentionMs}::bigint * interval '1 millisecond'`)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/**
 * Gives every open task its job again where that is missing: no row waits for a lost job. Law: the row is the truth.
 */
export async function ensureTaskJobs(storage: Storage): Promise<void> {
  const tasks = await storage.db
    .selectFrom("task")
    .select(["id", "kind", "user_id"])
    .where("status", "in", ["pending", "running"])
    .where("created_at", "<", sql<Date>`now() - interval '10 seconds'`)
    .execute();
  for (const task of tasks) await storage.jobs.ensure("task", task.id, groupOf(task));
}
