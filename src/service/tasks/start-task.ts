import type { Selectable } from "kysely";
import { v7 as uuid7 } from "uuid";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";
import type { TaskTable } from "../storage/tables.ts";
import type { Transaction } from "../storage/transaction.ts";
import type { TaskKind } from "./define-task.ts";

export type TaskRow = Selectable<TaskTable>;

export interface NewTask<Payload> {
  readonly kind: Pick<TaskKind<Payload>, "kind" | "payload">;
  /** At most one open task of a kind and key exists. */
  readonly key?: string;
  readonly userId: number | null;
  readonly name: string;
  readonly payload: Payload;
}

/** Another transaction may end the open task between our two looks. */
const TRIES = 5;

/**
 * Makes a task and its job, in the caller's transaction; or joins the open task of the same kind and key.
 *
 * A joined task keeps its own payload, and may be about to be cancelled: `task.cancel_requested` shows that.
 */
export async function startTask<Payload>(
  { jobs }: Pick<Storage, "jobs">,
  trx: Transaction,
  { kind, key, userId, name, payload }: NewTask<Payload>,
): Promise<{ task: TaskRow; joined: boolean }> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const made = await trx
      .insertInto("task")
      .values({
        id: uuid7(),
        kind: kind.kind,
        key: key ?? null,
        user_id: userId,
        name,
        status: "pending",
        payload: json<unknown>(kind.payload.parse(payload)),
      })
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst();
    if (made !== undefined) {
      await jobs.send(trx, "task", made.id, groupOf(made));
      return { task: made, joined: false };
    }
    const open = await trx
      .selectFrom("task")
      .selectAll()
      .where("kind", "=", kind.kind)
      .where("key", "=", key ?? null)
      .where("status", "in", ["pending", "running"])
      .executeTakeFirst();
    if (open !== undefined) return { task: open, joined: true };
  }
  throw new Error(`a task ${kind.kind} could neither be made nor joined`);
}

/** What a task's job is one of: a user's tasks of a kind, which are a part of that kind. */
export function groupOf({ kind, user_id: userId }: Pick<TaskRow, "kind" | "user_id">): string {
  return userId === null ? kind : `${kind}/${userId}`;
}
