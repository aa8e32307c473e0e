import { sql } from "kysely";
import type { TaskError } from "../protocol/tasks.ts";
import { json, storableText } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";
import type { Transaction } from "../storage/transaction.ts";
import { TaskOwnershipLost } from "./failures.ts";
import type { TaskRow } from "./start-task.ts";

/** Which task, and whose it has to be. */
export interface TaskOwner {
  readonly taskId: string;
  readonly attempt: number;
}

/** How a task ends. */
export type TaskEnd =
  | { readonly status: "success"; readonly result: unknown }
  | { readonly status: "failed"; readonly error: TaskError }
  | { readonly status: "cancelled" };

/** Lost attempts in a row that moved nothing; the next one is not made. */
const MOST_STALLED = 3;

/**
 * Makes this attempt the task's owner: from now on every write of an earlier one is refused. Law: one owner writes.
 *
 * @returns undefined when there is nothing to do: it has ended, or ends here as cancelled or exhausted
 */
export async function claimTask(storage: Storage, taskId: string): Promise<TaskRow | undefined> {
  return storage.transaction(async (trx) => {
    const before = await trx
      .selectFrom("task")
      .selectAll()
      .where("id", "=", taskId)
      .where("status", "in", ["pending", "running"])
      .forUpdate()
      .executeTakeFirst();
    if (before === undefined) return undefined;
    const stalled = countStalled(before);
    const row = await trx
      .updateTable("task")
      .set({
        status: "running",
        attempt: before.attempt + 1,
        stalled_attempts: stalled,
        attempt_outcome: null,
        started_at: before.started_at ?? sql<Date>`now()`,
        updated_at: sql<Date>`now()`,
      })
      .where("id", "=", taskId)
      .returningAll()
      .executeTakeFirstOrThrow();
    const owner = { taskId, attempt: row.attempt };
    if (before.cancel_requested) {
      await writeEnd(trx, owner, { status: "cancelled" });
      return undefined;
    }
    if (stalled >= MOST_STALLED) {
      const message = `${MOST_STALLED} attempts in a row ended without any progress`;
      await writeEnd(trx, owner, { status: "failed", error: { code: "attempts_exhausted", message } });
      return undefined;
    }
    return row;
  });
}

function countStalled({ attempt, stalled_attempts: stalled, attempt_outcome: outcome }: TaskRow): number {
  if (attempt === 0 || outcome === "moved") return 0;
  // Given back by a worker that stopped: no fault of the task's.
  return outcome === "handed_over" ? stalled : stalled + 1;
}

/** Ends a task. @throws {TaskOwnershipLost} */
export async function endTask(storage: Storage, owner: TaskOwner, end: TaskEnd): Promise<void> {
  await writeEnd(storage.db, owner, end);
}

async function writeEnd(db: Storage["db"] | Transaction, owner: TaskOwner, end: TaskEnd): Promise<void> {
  const row = await db
    .updateTable("task")
    .set({
      status: end.status,
      completed_at: sql<Date>`now()`,
      updated_at: sql<Date>`now()`,
      // What it worked on last is no news of a task that is done.
      ...(end.status === "success" ? { progress: 100, message: "", result: json(end.result ?? null) } : {}),
      ...(end.status === "failed" ? { error: json<unknown>(end.error) } : {}),
    })
    .where("id", "=", owner.taskId)
    .where("attempt", "=", owner.attempt)
    .where("status", "=", "running")
    .returning("id")
    .executeTakeFirst();
  if (row === undefined) throw new TaskOwnershipLost(owner.taskId);
}

/** Writes progress. @returns whether a cancel was requested. @throws {TaskOwnershipLost} */
export async function writeProgress(
  storage: Storage,
  owner: TaskOwner,
  step: { percent: number; message: string; checkpoint: unknown },
): Promise<{ isCancelRequested: boolean }> {
  const percent = Math.min(100, Math.max(0, Math.floor(step.percent)));
  const checkpoint = step.checkpoint === undefined ? sql<null>`null::jsonb` : json(step.checkpoint);
  const row = await storage.db
    .updateTable("task")
    .set({
      progress: sql<number>`greatest(progress, ${percent}::int)`,
      message: storableText(step.message),
      checkpoint: sql`coalesce(${checkpoint}, checkpoint)`,
      attempt_outcome: sql<"moved" | null>`case when ${percent}::int > progress
        or coalesce(${checkpoint} is distinct from checkpoint and ${checkpoint} is not null, false)
        then 'moved' else attempt_outcome end`,
      updated_at: sql<Date>`now()`,
    })
    .where("id", "=", owner.taskId)
    .where("attempt", "=", owner.attempt)
    .where("status", "=", "running")
    .returning("cancel_requested")
    .executeTakeFirst();
  if (row === undefined) throw new TaskOwnershipLost(owner.taskId);
  return { isCancelRequested: row.cancel_requested };
}

/** Holds the task for the rest of the transaction. @throws {TaskOwnershipLost} */
export async function lockOwned(trx: Transaction, owner: TaskOwner): Promise<void> {
  const row = await trx
    .selectFrom("task")
    .select("id")
    .where("id", "=", owner.taskId)
    .where("attempt", "=", owner.attempt)
    .where("status", "=", "running")
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new TaskOwnershipLost(owner.taskId);
}

/** Leaves a task to the next attempt. */
export async function handOverTask(storage: Storage, owner: TaskOwner): Promise<void> {
  await storage.db
    .updateTable("task")
    .set({ attempt_outcome: sql<"moved" | "handed_over">`coalesce(attempt_outcome, 'handed_over')` })
    .where("id", "=", owner.taskId)
    .where("attempt", "=", owner.attempt)
    .where("status", "=", "running")
    .execute();
}
