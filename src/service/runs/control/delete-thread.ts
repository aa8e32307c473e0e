import { sql } from "kysely";
import { z } from "zod";
import { ApiProblem } from "../../protocol/problems.ts";
import { writeAudit } from "../../auth/audit.ts";
import type { KnownActor } from "../../auth/accounts.ts";
import type { Sandboxes } from "../../sandboxes/sandboxes.ts";
import { json } from "../../storage/storable.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Transaction } from "../../storage/transaction.ts";
import { defineTask, type AnyTaskKind, type TaskContext } from "../../tasks/define-task.ts";
import { startTask } from "../../tasks/start-task.ts";
import { TaskTurnOver } from "../../tasks/failures.ts";
import { lockThread, type ThreadRow } from "../../threads/threads.ts";
import { cancelWaiting } from "../state/requests.ts";
import { findBlocking, notifyRequests, type RequestInput } from "../state/rows.ts";

const Payload = z.strictObject({ thread_pk: z.int() });
type Payload = z.infer<typeof Payload>;
const Checkpoint = z.strictObject({ is_session_removed: z.literal(true) });
type Checkpoint = z.infer<typeof Checkpoint>;

const KIND = { kind: "thread.delete", payload: Payload } as const;
/** Runs whose rows go in one transaction: each may have thousands of events. */
const RUNS_AT_ONCE = 20;
const ANSWER_MS = 180_000;
/** A deletion that has failed is begun again after so long: its turnd may be back. */
const AGAIN_AFTER = "10 minutes";
const NOTHING: RequestInput = { query: "", images: [] };

/**
 * Deletes a thread of a user: from now on it is not there. A task removes what was its own; its id stays taken. Safe to repeat.
 *
 * @throws {ApiProblem} thread_not_found; thread_busy while a run blocks it
 */
export async function deleteThread(storage: Storage, actor: KnownActor, threadId: string): Promise<void> {
  const { userId } = actor.caller;
  await storage.transaction(async (trx) => {
    const found = await trx
      .selectFrom("thread")
      .select("pk")
      .where("user_id", "=", userId)
      .where("id", "=", threadId)
      .executeTakeFirst();
    if (found === undefined) throw new ApiProblem("thread_not_found", `there is no thread ${JSON.stringify(threadId)}`);
    const thread = await lockThread(trx, found.pk);
    if (thread.deleted_at !== null) return;
    const blocking = await findBlocking(trx, thread.pk);
    if (blocking !== undefined) {
      const message = "a run blocks the thread: wait for its end, or cancel it";
      throw new ApiProblem("thread_busy", message, { active_run_id: blocking.id });
    }
    await hide(trx, thread.pk);
    await writeAudit(trx, actor, { action: "thread.deleted", subject: `thread:${threadId}` });
    await begin(storage, trx, thread);
  });
}

async function hide(trx: Transaction, pk: number): Promise<void> {
  await cancelWaiting(trx, pk);
  await trx
    .updateTable("thread")
    .set({ deleted_at: sql<Date>`now()`, title: "", metadata: json({}), updated_at: sql<Date>`now()` })
    .where("pk", "=", pk)
    .execute();
  // Of runs that are no longer reported: no failure of the receiver's.
  await trx
    .deleteFrom("webhook_delivery")
    .where("run_id", "in", (query) => query.selectFrom("run").select("id").where("thread_pk", "=", pk))
    .execute();
  await notifyRequests(trx, pk);
}

async function begin(storage: Storage, trx: Transaction, thread: Pick<ThreadRow, "pk" | "id" | "user_id">) {
  await startTask(storage, trx, {
    kind: KIND,
    key: String(thread.pk),
    userId: thread.user_id,
    name: `delete thread ${thread.id}`,
    payload: { thread_pk: thread.pk },
  });
}

/**
 * Begins every deletion again that is not done and has no task any more: the thread's row decides. Law: the row is the
 * truth.
 */
export async function ensureThreadDeletions(storage: Storage): Promise<void> {
  const { rows } = await sql<Pick<ThreadRow, "pk" | "id" | "user_id">>`
    select pk, id, user_id from thread
    where deleted_at < now() - interval '10 seconds' and purged_at is null and not exists (
      select 1 from task where kind = ${KIND.kind} and key = thread.pk::text
        and (completed_at is null or completed_at > now() - ${AGAIN_AFTER}::interval))
    order by deleted_at limit 100`.execute(storage.db);
  for (const thread of rows) await storage.transaction((trx) => begin(storage, trx, thread));
}

export interface ThreadDeletionOptions {
  readonly storage: Storage;
  readonly sandboxes: Sandboxes;
  /** Called at each step of a deletion; tests end the process there. */
  readonly onStep?: ((step: "session" | "rows" | "purged") => void) | undefined;
}

/** Removes what a deleted thread left: its session and workspace at turnd, its runs, what was written in it. */
export function defineThreadDeletion(options: ThreadDeletionOptions): AnyTaskKind {
  return defineTask({
    ...KIND,
    result: z.strictObject({ runs: z.int() }),
    checkpoint: Checkpoint,
    concurrency: 1,
    timeoutMs: 3_600_000,
    run: (context) => purge(options, context),
  });
}

async function purge(
  { storage, sandboxes, onStep }: ThreadDeletionOptions,
  { payload, checkpoint, signal, progress, isTurnOver, transaction }: TaskContext<Payload, Checkpoint>,
): Promise<{ runs: number }> {
  const thread = await storage.db
    .selectFrom("thread")
    .selectAll()
    .where("pk", "=", payload.thread_pk)
    .executeTakeFirstOrThrow();
  if (thread.purged_at !== null) return { runs: 0 };
  if (checkpoint === undefined) {
    if (await hasBegun(storage, thread.pk)) {
      const scope = {
        threadPk: thread.pk,
        sessionId: thread.session_id,
        userId: thread.user_id,
        sandboxId: thread.sandbox_id,
      };
      await sandboxes.removeThread(scope, AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]));
    }
    onStep?.("session");
    await progress(50, "session and workspace removed", { is_session_removed: true });
  }
  let runs = 0;
  for (;;) {
    signal.throwIfAborted();
    const removed = await transaction((trx) => deleteSomeRuns(trx, thread.pk));
    onStep?.("rows");
    if (removed === 0) break;
    runs += removed;
    await progress(50, `${runs} runs removed`);
    if (await isTurnOver()) throw new TaskTurnOver();
  }
  await transaction(async (trx) => {
    // Its request ids stay taken: what was run once never runs again.
    await trx
      .updateTable("run_request")
      .set({ input: json(NOTHING), options: json({}), manifest_digest: null, traceparent: null, error: null })
      .where("thread_pk", "=", thread.pk)
      .execute();
    await trx
      .updateTable("thread")
      .set({ purged_at: sql<Date>`now()` })
      .where("pk", "=", thread.pk)
      .execute();
  });
  onStep?.("purged");
  return { runs };
}

/** Whether turnd may have a session of the thread. */
async function hasBegun(storage: Storage, pk: number): Promise<boolean> {
  const begun = await storage.db
    .selectFrom("run")
    .select("id")
    .where("thread_pk", "=", pk)
    .where("attempt", ">", 0)
    .limit(1)
    .executeTakeFirst();
  return begun !== undefined;
}

/** The newest first: a resume names its parent. */
async function deleteSomeRuns(trx: Transaction, pk: number): Promise<number> {
  const runs = await trx
    .selectFrom("run")
    .select("id")
    .where("thread_pk", "=", pk)
    .orderBy("ordinal", "desc")
    .limit(RUNS_AT_ONCE)
    .execute();
  const ids = runs.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await trx.deleteFrom("run_event").where("run_id", "in", ids).execute();
  await trx.deleteFrom("run").where("id", "in", ids).execute();
  return ids.length;
}
