import { sql, type RawBuilder, type Selectable } from "kysely";
import { z } from "zod";
import type { NewRunEvent } from "../../protocol/events.ts";
import { Manifest } from "../../agents/manifest.ts";
import { Evaluation, OPEN_RUN_STATUSES } from "../../protocol/runs.ts";
import { ToolApprovalMode } from "../../protocol/agents.ts";
import { json } from "../../storage/storable.ts";
import type { RunRequestTable, RunTable } from "../../storage/tables.ts";
import type { Queries, Transaction } from "../../storage/transaction.ts";
import { lockThread } from "../../threads/threads.ts";

export type RunRow = Selectable<RunTable>;
export type RequestRow = Selectable<RunRequestTable>;

const RequestInput = z.strictObject({
  query: z.string(),
  /** Data URLs. */
  images: z.array(z.string()),
  resume: z.record(z.string(), z.unknown()).optional(),
  parent_run_id: z.string().optional(),
});
export type RequestInput = z.infer<typeof RequestInput>;

const RequestOptions = z.strictObject({
  model_spec: z.string().optional(),
  tool_approval_mode: ToolApprovalMode.optional(),
  timeout_ms: z.int().optional(),
  evaluation: Evaluation.optional(),
  meta: z.record(z.string(), z.unknown()).optional(),
});
export type RequestOptions = z.infer<typeof RequestOptions>;

/** What a request asks for, as it is kept in its row. */
export interface RequestContent {
  readonly input: RequestInput;
  readonly options: RequestOptions;
}

/** Reads the content of a row. */
export function readContent({ input, options }: Pick<RequestRow, "input" | "options">): RequestContent {
  return { input: RequestInput.parse(input), options: RequestOptions.parse(options) };
}

/** The run that blocks a thread, if one does. */
export async function findBlocking(db: Queries | Transaction, threadPk: number): Promise<RunRow | undefined> {
  return db
    .selectFrom("run")
    .selectAll()
    .where("thread_pk", "=", threadPk)
    .where((where) =>
      where.or([
        where("status", "in", OPEN_RUN_STATUSES),
        where.and([where("status", "=", "interrupted"), where("released_at", "is", null)]),
      ]),
    )
    .executeTakeFirst();
}

/** A request as it is now, held with its thread for the rest of the transaction. */
export async function lockRequest(
  trx: Transaction,
  { pk, thread_pk }: Pick<RequestRow, "pk" | "thread_pk">,
): Promise<RequestRow> {
  await lockThread(trx, thread_pk);
  return trx.selectFrom("run_request").selectAll().where("pk", "=", pk).forUpdate().executeTakeFirstOrThrow();
}

/** A manifest by its digest. */
export async function readManifest(db: Queries | Transaction, digest: Uint8Array): Promise<Manifest> {
  const { body } = await db
    .selectFrom("manifest")
    .select("body")
    .where("digest", "=", digest)
    .executeTakeFirstOrThrow();
  return Manifest.parse(body);
}

/**
 * Appends events after `lastSeq`; the caller has moved `run.last_seq` in the same transaction, by which it owns the
 * run. Law: events have no gaps.
 */
export async function insertEvents(
  trx: Transaction,
  runId: string,
  lastSeq: number,
  events: readonly NewRunEvent[],
): Promise<void> {
  if (events.length === 0) return;
  await trx
    .insertInto("run_event")
    .values(eventRows(runId, lastSeq, events))
    .execute();
}

/** Events as rows, numbered after `lastSeq`. */
export function eventRows(runId: string, lastSeq: number, events: readonly NewRunEvent[]) {
  return events.map(({ event, payload, native }, index) => ({
    run_id: runId,
    seq: lastSeq + index + 1,
    event,
    payload: json(payload),
    native: native === undefined ? null : json(native),
  }));
}

/** Notifies readers that a run has more events; a hint. Law: the row is the truth. */
export async function notifyEvents(trx: Queries | Transaction, runId: string): Promise<void> {
  await sql`select ${noticeOfEvents(runId)}`.execute(trx);
}

/** The same as part of a statement that writes them. */
export function noticeOfEvents(runId: string): RawBuilder<unknown> {
  return sql`pg_notify('svc_events', ${runId}::text)`;
}

/** Notifies the owner of a run that it has a control. */
export async function notifyControl(trx: Transaction, runId: string): Promise<void> {
  await sql`select pg_notify('svc_control', ${runId})`.execute(trx);
}

/** Notifies the watchers of a request that it has changed. */
export async function notifyRequests(trx: Transaction, threadPk: number): Promise<void> {
  await sql`select ${noticeOfRequests(threadPk)}`.execute(trx);
}

/** The same as part of a statement that changes it. */
export function noticeOfRequests(threadPk: number): RawBuilder<unknown> {
  return sql`pg_notify('svc_requests', ${String(threadPk)}::text)`;
}

/** A run, and the attempt that has to own it. */
export interface Ownership {
  readonly runId: string;
  readonly threadPk: number;
  readonly attempt: number;
}

/** Steers of a run that were assigned to its turn, and whose turn it may not have yet. */
export async function listAssigned(db: Queries | Transaction, runId: string): Promise<RequestRow[]> {
  return db
    .selectFrom("run_request")
    .selectAll()
    .where("steer_target", "=", runId)
    .where("status", "=", "queued")
    .where("handed_at", "is not", null)
    .execute();
}
