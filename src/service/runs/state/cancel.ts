import { sql } from "kysely";
import { ApiProblem } from "../../protocol/problems.ts";
import { writeAudit } from "../../auth/audit.ts";
import type { KnownActor } from "../../auth/accounts.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Transaction } from "../../storage/transaction.ts";
import { lockThread } from "../../threads/threads.ts";
import { dispatchHead } from "./dispatch.ts";
import { finishIn, type FinishOptions } from "./finish.ts";
import { lockRequest, notifyControl, notifyEvents, notifyRequests, type RequestRow, type RunRow } from "./rows.ts";

/** Asks for a run's end. It is confirmed only by its turn's end; one that has not begun ends at once. Safe to repeat. */
export async function cancelRun(options: FinishOptions, actor: KnownActor, run: RunRow): Promise<void> {
  await options.storage.transaction((trx) => cancelIn(options, trx, run, actor.caller.userId));
}

async function cancelIn(
  options: FinishOptions,
  trx: Transaction,
  { id, thread_pk }: RunRow,
  userId: number,
): Promise<void> {
  await lockThread(trx, thread_pk);
  const run = await trx.selectFrom("run").selectAll().where("id", "=", id).forUpdate().executeTakeFirstOrThrow();
  if (run.status === "interrupted" && run.released_at === null) {
    await trx
      .updateTable("run")
      .set({ released_at: sql<Date>`now()`, cancelled_by: userId })
      .where("id", "=", id)
      .execute();
    // Nothing blocks the thread any more, and nothing failed: the queue goes on.
    await dispatchHead(options.storage, trx, thread_pk);
    return;
  }
  if (run.status !== "pending" && run.status !== "running") return;
  await trx
    .updateTable("run")
    .set({ cancel_requested_at: sql<Date>`now()`, cancelled_by: userId })
    .where("id", "=", id)
    .execute();
  // One whose turn was sent ahead, as a steer, has begun.
  if (run.status === "pending" && run.turn_request_id === null) {
    await finishIn(
      options,
      trx,
      { runId: id, threadPk: thread_pk, attempt: run.attempt },
      { status: "cancelled", reason: "cancelled_by_user" },
    );
    return;
  }
  await trx.updateTable("run").set({ status: "cancel_requested" }).where("id", "=", id).execute();
  await notifyControl(trx, id);
  await notifyEvents(trx, id);
}

/** Ends what a disabled or deleted user has running or waiting, in the transaction that does it. */
export async function cancelAllOf(options: FinishOptions, trx: Transaction, userId: number): Promise<void> {
  // All threads first, in one order: no dispatch comes in between.
  await trx.selectFrom("thread").select("pk").where("user_id", "=", userId).orderBy("pk").forUpdate().execute();
  const waiting = await trx
    .updateTable("run_request")
    .set({ status: "cancelled", revision: sql<number>`revision + 1`, updated_at: sql<Date>`now()` })
    .where("user_id", "=", userId)
    .where("status", "=", "queued")
    // What turnd may have needs a run that cancels it: its target's end dispatches it.
    .where("handed_at", "is", null)
    .returning("thread_pk")
    .execute();
  const runs = await trx
    .selectFrom("run")
    .selectAll()
    .where("user_id", "=", userId)
    .where("status", "in", ["pending", "running", "interrupted"])
    .orderBy("thread_pk")
    .execute();
  for (const run of runs) await cancelIn(options, trx, run, userId);
  for (const { thread_pk } of waiting) await notifyRequests(trx, thread_pk);
}

/** Takes a waiting request back. @throws {ApiProblem} */
export async function cancelRequest(storage: Storage, actor: KnownActor, request: RequestRow): Promise<RequestRow> {
  return storage.transaction(async (trx) => {
    const row = await lockRequest(trx, request);
    if (row.status === "dispatched") {
      throw new ApiProblem("request_already_dispatched", "the request has a run: cancel that", {
        run_id: row.planned_run_id,
      });
    }
    if (row.status !== "queued") return row;
    if (row.steer_target !== null) {
      const target = await trx
        .selectFrom("run")
        .select("ended_at")
        .where("id", "=", row.steer_target)
        .executeTakeFirst();
      if (target?.ended_at === null)
        throw new ApiProblem("steer_in_progress", "the steer is on its way to the running run");
    }
    await sql`select pg_notify('svc_requests', ${String(row.thread_pk)})`.execute(trx);
    await writeAudit(trx, actor, { action: "request.cancelled", subject: `request:${row.request_id}` });
    return trx
      .updateTable("run_request")
      .set({ status: "cancelled", revision: row.revision + 1, updated_at: sql<Date>`now()` })
      .where("pk", "=", row.pk)
      .returningAll()
      .executeTakeFirstOrThrow();
  });
}
