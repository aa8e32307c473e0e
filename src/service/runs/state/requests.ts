import { sql, type InsertObject } from "kysely";
import type { Database } from "../../storage/tables.ts";
import type { Transaction } from "../../storage/transaction.ts";
import { noticeOfRequests, type RequestRow } from "./rows.ts";

/** Writes the row of a request. With `isNoticed` the watchers of its thread's requests are notified. */
export async function addRequest(
  trx: Transaction,
  row: InsertObject<Database, "run_request"> & Pick<RequestRow, "thread_pk">,
  { isNoticed }: { readonly isNoticed: boolean },
): Promise<RequestRow> {
  if (!isNoticed) return trx.insertInto("run_request").values(row).returningAll().executeTakeFirstOrThrow();
  const { notice: _notice, ...request } = await trx
    .with("made", (db) => db.insertInto("run_request").values(row).returningAll())
    .selectFrom("made")
    .selectAll()
    .select(noticeOfRequests(row.thread_pk).as("notice"))
    .executeTakeFirstOrThrow();
  return request;
}

/** Cancels all that waits in a thread. The caller holds the thread, and notifies its watchers. */
export async function cancelWaiting(trx: Transaction, threadPk: number): Promise<void> {
  await trx
    .updateTable("run_request")
    .set({ status: "cancelled", revision: sql<number>`revision + 1`, updated_at: sql<Date>`now()` })
    .where("thread_pk", "=", threadPk)
    .where("status", "=", "queued")
    .execute();
}

/** Makes a waiting request the steer of a run, with its agent as it is now. */
export async function makeSteer(
  trx: Transaction,
  request: RequestRow,
  { targetId, manifest }: { readonly targetId: string; readonly manifest: Buffer },
): Promise<void> {
  await trx
    .updateTable("run_request")
    .set({
      queue_policy: "steer",
      steer_target: targetId,
      manifest_digest: manifest,
      revision: request.revision + 1,
      updated_at: sql<Date>`now()`,
    })
    .where("pk", "=", request.pk)
    .execute();
}

/** An interrupted run blocks its thread no more: another run has taken its question. */
export async function releaseRun(trx: Transaction, runId: string, releasedBy: string): Promise<void> {
  await trx
    .updateTable("run")
    .set({ released_at: sql<Date>`now()`, released_by: releasedBy })
    .where("id", "=", runId)
    .execute();
}
