import { sql, type RawBuilder } from "kysely";
import { Manifest } from "../../agents/manifest.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Queries, Transaction } from "../../storage/transaction.ts";
import type { ThreadRow } from "../../threads/threads.ts";
import type { Ownership } from "./rows.ts";
import { insertEvents, type RequestRow, type RunRow } from "./rows.ts";

/** What an attempt needs besides its run's row; none of it changes while the run is open. */
export interface RunContext {
  readonly request: Pick<RequestRow, "traceparent" | "queue_policy" | "input" | "options">;
  readonly thread: Pick<ThreadRow, "id" | "session_id" | "sandbox_id">;
  readonly manifest: Manifest;
  /** The turn that the thread's session has had last, before this run. */
  readonly lastTurnId: string | null;
}

/** A run that this attempt owns, and how often attempts in a row came to nothing. */
export interface Claim {
  readonly run: RunRow;
  readonly stalledAttempts: number;
  readonly context: RunContext;
}

/**
 * Makes this attempt the run's owner: from now on every write of an earlier one is refused. Law: one owner writes.
 *
 * @returns undefined when the run has ended
 */
export async function claim(storage: Storage, runId: string, worker: string): Promise<Claim | undefined> {
  return (await claimNew(storage.db, runId, worker)) ?? claimAgain(storage, runId, worker);
}

/**
 * The first attempt at a run, in one statement that is its own transaction: it is on the way of every dispatch.
 *
 * What the thread's lock has waited for is seen: the update looks at the row as it is then.
 * @returns undefined for a run that is not waiting for its first attempt
 */
async function claimNew(db: Queries, runId: string, worker: string): Promise<Claim | undefined> {
  const { rows } = await sql<RunRow & ContextColumns>`
    with held as (
      select thread.pk from thread join run on run.thread_pk = thread.pk where run.id = ${runId} for update of thread
    ), claimed as (
      update run set attempt = 1, status = 'running', started_at = coalesce(started_at, now()) from held
      where run.id = ${runId} and run.thread_pk = held.pk and run.attempt = 0 and run.status = 'pending' returning run.*
    ), begun as (
      insert into run_attempt (run_id, attempt, worker, from_seq) select id, 1, ${worker}::text, last_seq from claimed
    )
    select claimed.*, ${contextOf("claimed")}`.execute(db);
  const [row] = rows;
  return row === undefined ? undefined : toClaim(row, 0);
}

/** Any other: a run whose last attempt was lost or handed over, or that was cancelled before its first one. */
async function claimAgain(storage: Storage, runId: string, worker: string): Promise<Claim | undefined> {
  return storage.transaction(async (trx) => {
    // The thread first, then the run.
    const before = await trx
      .selectFrom("thread")
      .innerJoin("run", "run.thread_pk", "thread.pk")
      .selectAll("run")
      .where("run.id", "=", runId)
      .forUpdate(["thread", "run"])
      .executeTakeFirst();
    if (before === undefined || before.ended_at !== null) return undefined;
    const attempt = before.attempt + 1;
    const { stalledAttempts, reason } = await judgeLast(trx, before);
    const events =
      reason === undefined ? [] : [{ event: "custom" as const, payload: { name: "svc.attempt", attempt, reason } }];
    const lastSeq = before.last_seq + events.length;
    await trx
      .with("begun", (db) => db.insertInto("run_attempt").values({ run_id: runId, attempt, worker, from_seq: lastSeq }))
      .updateTable("run")
      .set({
        attempt,
        stalled_attempts: stalledAttempts,
        status: before.status === "pending" ? "running" : before.status,
        started_at: before.started_at ?? sql<Date>`now()`,
        last_seq: lastSeq,
      })
      .where("id", "=", runId)
      .execute();
    await insertEvents(trx, runId, before.last_seq, events);
    const { rows } = await sql<RunRow & ContextColumns>`
      with claimed as (select * from run where id = ${runId}) select claimed.*, ${contextOf("claimed")}`.execute(trx);
    const [row] = rows;
    if (row === undefined) throw new Error(`the run ${runId} is gone while it is held`);
    return toClaim(row, stalledAttempts);
  });
}

interface ContextColumns {
  readonly asked: RunContext["request"];
  readonly in_thread: RunContext["thread"];
  readonly manifest: unknown;
  readonly last_turn_id: string | null;
}

/** The columns of a run's context, and where they come from. */
function contextOf(run: string): RawBuilder<unknown> {
  const row = sql.table(run);
  return sql`
    jsonb_build_object('traceparent', run_request.traceparent, 'queue_policy', run_request.queue_policy,
      'input', run_request.input, 'options', run_request.options) as asked,
    jsonb_build_object('id', thread.id, 'session_id', thread.session_id, 'sandbox_id', thread.sandbox_id) as in_thread,
    manifest.body as manifest,
    (select turn_id from run as earlier where earlier.thread_pk = ${row}.thread_pk and earlier.ordinal < ${row}.ordinal
      and earlier.turn_id is not null order by earlier.ordinal desc limit 1) as last_turn_id
    from ${row} join run_request on run_request.pk = ${row}.request_pk join thread on thread.pk = ${row}.thread_pk
      join manifest on manifest.digest = ${row}.manifest_digest`;
}

function toClaim(row: RunRow & ContextColumns, stalledAttempts: number): Claim {
  const { asked, in_thread, manifest, last_turn_id, ...run } = row;
  const context = {
    request: asked,
    thread: in_thread,
    manifest: Manifest.parse(manifest),
    lastTurnId: last_turn_id,
  };
  return { run, stalledAttempts, context };
}

/** What became of the attempt before: handed over, or lost, and if lost whether it had done anything. */
async function judgeLast(
  trx: Transaction,
  run: RunRow,
): Promise<{ stalledAttempts: number; reason?: "handed_over" | "lost" }> {
  if (run.attempt === 0) return { stalledAttempts: 0 };
  const last = await trx
    .selectFrom("run_attempt")
    .selectAll()
    .where("run_id", "=", run.id)
    .where("attempt", "=", run.attempt)
    .executeTakeFirst();
  if (last === undefined) return { stalledAttempts: 0 };
  if (last.outcome === "handed_over") {
    return { stalledAttempts: last.has_moved ? 0 : run.stalled_attempts, reason: "handed_over" };
  }
  await trx
    .updateTable("run_attempt")
    .set({ outcome: "lost", ended_at: sql<Date>`now()` })
    .where("run_id", "=", run.id)
    .where("attempt", "=", run.attempt)
    .execute();
  return { stalledAttempts: last.has_moved ? 0 : run.stalled_attempts + 1, reason: "lost" };
}

/** Says that an attempt did its work: whatever ends it, it does not count as one that came to nothing. */
export async function noteMoved(db: Queries | Transaction, { runId, attempt }: Ownership): Promise<void> {
  await db
    .updateTable("run_attempt")
    .set({ has_moved: true })
    .where("run_id", "=", runId)
    .where("attempt", "=", attempt)
    .execute();
}

/** Leaves a run to the next attempt, which need not wait for anything. */
export async function handOver(storage: Storage, runId: string, attempt: number): Promise<void> {
  await storage.db
    .updateTable("run_attempt")
    .set({ outcome: "handed_over", ended_at: sql<Date>`now()` })
    .where("run_id", "=", runId)
    .where("attempt", "=", attempt)
    .where("outcome", "is", null)
    .execute();
}
