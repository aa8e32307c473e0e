import { sql } from "kysely";
import type { QueueView } from "../protocol/threads.ts";
import type { Queries, Transaction } from "../storage/transaction.ts";
import { OPEN_RUNS } from "../storage/open-runs.ts";

/** A thread's queue, by its rows; nothing else keeps it, so no failure can block it. Law: the queue is strict. */
export async function viewQueues(
  db: Queries | Transaction,
  threadPks: readonly number[],
): Promise<Map<number, QueueView>> {
  if (threadPks.length === 0) return new Map();
  const { rows } = await sql<{
    pk: number;
    blocking_id: string | null;
    blocking_status: string | null;
    last_status: string | null;
    has_backlog: boolean;
  }>`
    select t.pk, blocking.id::text as blocking_id, blocking.status as blocking_status, last.status as last_status,
      exists (select 1 from run_request q where q.thread_pk = t.pk and q.status = 'queued') as has_backlog
    from thread t
    left join lateral (
      select id, status from run where thread_pk = t.pk
        and (status in ${OPEN_RUNS} or (status = 'interrupted' and released_at is null))
      limit 1) blocking on true
    left join lateral (
      select status from run where thread_pk = t.pk and ended_at is not null order by ordinal desc limit 1) last on true
    where t.pk = any(${[...threadPks]}::bigint[])`.execute(db);
  return new Map(rows.map((row) => [row.pk, toView(row)]));
}

/** The same for one thread. */
export async function viewQueue(db: Queries | Transaction, threadPk: number): Promise<QueueView> {
  const view = (await viewQueues(db, [threadPk])).get(threadPk);
  if (view === undefined) throw new Error(`there is no thread ${threadPk}`);
  return view;
}

function toView(row: {
  blocking_id: string | null;
  blocking_status: string | null;
  last_status: string | null;
  has_backlog: boolean;
}): QueueView {
  const base = { blocking_run_id: row.blocking_id, paused_reason: null, can_continue: false };
  if (row.blocking_status === "interrupted") return { ...base, status: "interrupted" };
  if (row.blocking_status !== null) return { ...base, status: "running" };
  if (!row.has_backlog) return { ...base, status: "idle" };
  if (row.last_status === "failed" || row.last_status === "cancelled") {
    const paused_reason = row.last_status === "failed" ? "run_failed" : "run_cancelled";
    return { ...base, status: "paused", paused_reason, can_continue: true };
  }
  return { ...base, status: "ready", can_continue: true };
}
