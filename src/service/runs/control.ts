import { sql } from "kysely";
import type { Logger } from "pino";
import { ApiProblem } from "../api/problems.ts";
import { writeAudit } from "../auth/audit.ts";
import type { KnownActor } from "../auth/accounts.ts";
import type { Storage } from "../storage/storage.ts";
import type { Transaction } from "../storage/transaction.ts";
import { lockThread } from "../threads/threads.ts";
import { dispatchHead } from "./dispatch.ts";
import { finishIn, type FinishOptions } from "./finish.ts";
import { notifyControl, notifyEvents, type RequestRow, type RunRow } from "./rows.ts";

/** What an attempt is told while it runs. May be told again (law 1). */
export interface Controlled {
  onCancel(): void;
  onSteer(request: RequestRow): void;
}

/** Asks the rows, for all attempts of this process at once, whether something is wanted of them. */
export interface Controls {
  /** @returns ends it */
  watch(runId: string, controlled: Controlled): () => void;
  close(): Promise<void>;
}

const POLL_MS = 1_000;

export async function createControls(storage: Storage, logger: Logger): Promise<Controls> {
  const watched = new Map<string, Controlled>();
  let looking: Promise<void> | undefined;
  let isWanted = false;
  let isClosed = false;

  async function look(): Promise<void> {
    const ids = [...watched.keys()];
    if (ids.length === 0) return;
    const cancelled = await storage.db
      .selectFrom("run")
      .select("id")
      .where("id", "in", ids)
      .where("status", "=", "cancel_requested")
      .execute();
    for (const { id } of cancelled) watched.get(id)?.onCancel();
    const steers = await storage.db
      .selectFrom("run_request")
      .selectAll()
      .where("steer_target", "in", ids)
      .where("status", "=", "queued")
      .where("handed_at", "is", null)
      .execute();
    for (const steer of steers) watched.get(steer.steer_target ?? "")?.onSteer(steer);
  }

  /** One look at a time; what is asked for meanwhile is one look more. */
  function lookSoon(): void {
    if (isClosed) return;
    if (looking !== undefined) {
      isWanted = true;
      return;
    }
    looking = look()
      .catch((error: unknown) => logger.warn({ err: error }, "controls could not be read"))
      .finally(() => {
        looking = undefined;
        if (isWanted) {
          isWanted = false;
          lookSoon();
        }
      });
  }

  const end = await storage.listen("svc_control", {
    onNotice(runId) {
      if (watched.has(runId)) lookSoon();
    },
    onGap: lookSoon,
  });
  const timer = setInterval(lookSoon, POLL_MS);
  timer.unref();
  return {
    watch(runId, controlled) {
      watched.set(runId, controlled);
      lookSoon();
      return () => {
        if (watched.get(runId) === controlled) watched.delete(runId);
      };
    },
    async close() {
      isClosed = true;
      clearInterval(timer);
      await looking;
      await end();
    },
  };
}

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

/** Ends what a deleted user has running or waiting, in the deletion's transaction. */
export async function cancelAllOf(options: FinishOptions, trx: Transaction, userId: number): Promise<void> {
  // All threads first, in one order: no dispatch comes in between.
  await trx.selectFrom("thread").select("pk").where("user_id", "=", userId).orderBy("pk").forUpdate().execute();
  await trx
    .updateTable("run_request")
    .set({ status: "cancelled", revision: sql<number>`revision + 1`, updated_at: sql<Date>`now()` })
    .where("user_id", "=", userId)
    .where("status", "=", "queued")
    // What turnd may have needs a run that cancels it: its target's end dispatches it.
    .where("handed_at", "is", null)
    .execute();
  const runs = await trx
    .selectFrom("run")
    .selectAll()
    .where("user_id", "=", userId)
    .where("status", "in", ["pending", "running", "interrupted"])
    .orderBy("thread_pk")
    .execute();
  for (const run of runs) await cancelIn(options, trx, run, userId);
}

/** Takes a waiting request back. @throws {ApiProblem} */
export async function cancelRequest(storage: Storage, actor: KnownActor, request: RequestRow): Promise<RequestRow> {
  return storage.transaction(async (trx) => {
    await lockThread(trx, request.thread_pk);
    const row = await trx
      .selectFrom("run_request")
      .selectAll()
      .where("pk", "=", request.pk)
      .forUpdate()
      .executeTakeFirstOrThrow();
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
    await writeAudit(trx, actor, { action: "request.cancelled", subject: `request:${row.pk}` });
    return trx
      .updateTable("run_request")
      .set({ status: "cancelled", revision: row.revision + 1, updated_at: sql<Date>`now()` })
      .where("pk", "=", row.pk)
      .returningAll()
      .executeTakeFirstOrThrow();
  });
}
