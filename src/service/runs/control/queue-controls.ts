import { ApiProblem } from "../../protocol/problems.ts";
import type { Continued } from "../../protocol/runs.ts";
import { writeAudit } from "../../auth/audit.ts";
import type { KnownActor } from "../../auth/accounts.ts";
import type { Storage } from "../../storage/storage.ts";
import { viewQueue } from "../../threads/queue-view.ts";
import { findThread, lockThread } from "../../threads/threads.ts";
import { dispatchHead, freezeManifest } from "../state/dispatch.ts";
import { makeSteer } from "../state/requests.ts";
import { findBlocking, lockRequest, notifyControl, notifyRequests, type RequestRow } from "../state/rows.ts";
import { assertSteerable } from "../submit/decide-ordinary.ts";

/** Makes a waiting request the steer of the run that blocks its thread. Safe to repeat. @throws {ApiProblem} */
export async function promoteToSteer(storage: Storage, request: RequestRow): Promise<void> {
  await storage.transaction(async (trx) => {
    const row = await lockRequest(trx, request);
    if (row.status !== "queued")
      throw new ApiProblem("request_not_queued", "only a waiting request can become a steer", {
        status: row.status,
      });
    if (row.queue_policy === "steer") return;
    const target = await assertSteerable(trx, await findBlocking(trx, row.thread_pk), row.source);
    const other = await trx
      .selectFrom("run_request")
      .select("pk")
      .where("thread_pk", "=", row.thread_pk)
      .where("status", "=", "queued")
      .where("queue_policy", "=", "steer")
      .executeTakeFirst();
    if (other !== undefined) throw new ApiProblem("steer_already_pending", "another steer waits already");
    const digest = await freezeManifest(trx, row);
    await makeSteer(trx, row, { targetId: target.id, manifest: digest });
    await notifyControl(trx, target.id);
    await notifyRequests(trx, row.thread_pk);
  });
}

/** Dispatches the next request of a paused thread; when it completes, the rest follows. */
export async function continueThread(storage: Storage, actor: KnownActor, threadId: string): Promise<Continued> {
  const { pk } = await findThread(storage.db, actor.caller.userId, threadId);
  const continued = await storage.transaction(async (trx) => {
    await lockThread(trx, pk);
    const { status, blocking_run_id } = await viewQueue(trx, pk);
    if (status === "interrupted")
      throw new ApiProblem("run_interrupted", "the thread waits for an answer to its run", { blocking_run_id });
    if (status === "running") throw new ApiProblem("run_active", "a run is active", { blocking_run_id });
    if (status === "idle") throw new ApiProblem("queue_empty", "nothing waits in this thread");
    const run = await dispatchHead(storage, trx, pk);
    // Not thrown in here: what could not be dispatched has failed, and stays so.
    if (run === undefined) return undefined;
    const { request_id } = await trx
      .selectFrom("run_request")
      .select("request_id")
      .where("pk", "=", run.request_pk)
      .executeTakeFirstOrThrow();
    await writeAudit(trx, actor, { action: "queue.continued", subject: `thread:${threadId}` });
    return { status: "dispatched" as const, request_id, run_id: run.id };
  });
  if (continued === undefined) throw new ApiProblem("queue_empty", "nothing that waited could be dispatched");
  return continued;
}
