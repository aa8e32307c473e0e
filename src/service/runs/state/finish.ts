import { sql } from "kysely";
import { defined } from "../../../kit/defined.ts";
import type { NewRunEvent } from "../../protocol/events.ts";
import { OPEN_RUN_STATUSES, type Interrupt, type RunError } from "../../protocol/runs.ts";
import { json, storableText } from "../../storage/storable.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Transaction } from "../../storage/transaction.ts";
import { dispatch, dispatchHead } from "./dispatch.ts";
import { OwnershipLost } from "./failures.ts";
import type { RunObserver } from "./observer.ts";
import { eventRows, listAssigned, noticeOfEvents, notifyRequests, type RequestRow, type RunRow } from "./rows.ts";
import { account, showUsage, type StoredUsage } from "./usage.ts";
import type { Ownership } from "./rows.ts";

/** How a run ends. */
export interface Outcome {
  readonly status: "completed" | "failed" | "cancelled" | "interrupted";
  readonly reason?: "steered" | "rejected_plan" | "cancelled_by_user";
  readonly output?: string | undefined;
  readonly error?: RunError;
  readonly evidence?: unknown;
  readonly interrupt?: Interrupt;
  readonly usage?: StoredUsage | undefined;
  readonly isDegraded?: boolean;
  /** Where the turn's stream stands, when its end is what ended the run. */
  readonly turnCursor?: number;
}

export interface FinishOptions {
  readonly storage: Storage;
  readonly eventsRetentionMs: number;
  /** Called at every end, in its transaction: webhooks. */
  readonly onRunEnded: (trx: Transaction, run: RunRow) => Promise<void>;
  readonly observer?: RunObserver | undefined;
}

/**
 * Ends a run: its row, its last events, what it cost, and the next request of the thread, in one transaction. Law: the
 * end is one transaction.
 *
 * @param before - events that belong before the end
 * @throws {OwnershipLost} when the run is another's or has ended
 */
export async function finish(
  options: FinishOptions,
  owner: Ownership,
  outcome: Outcome,
  before: readonly NewRunEvent[] = [],
): Promise<void> {
  await options.storage.transaction((trx) => finishIn(options, trx, owner, outcome, before));
}

/** The same in a transaction of the caller's. */
export async function finishIn(
  options: FinishOptions,
  trx: Transaction,
  owner: Ownership,
  found: Outcome,
  before: readonly NewRunEvent[] = [],
): Promise<RunRow> {
  // The thread first, then the run: what either has waited for is seen.
  const known = await trx
    .selectFrom("thread")
    .innerJoin("run", "run.thread_pk", "thread.pk")
    .innerJoin("run_request", "run_request.pk", "run.request_pk")
    .select([
      "run.status",
      "run.last_seq",
      "run.turn_request_id",
      "run_request.api_key_id",
      "run_request.source",
      sql<number>`greatest(0, extract(epoch from now() - run.created_at) * 1000)::bigint`.as("duration_ms"),
    ])
    .where("thread.pk", "=", owner.threadPk)
    .where("run.id", "=", owner.runId)
    .where("run.attempt", "=", owner.attempt)
    .where("run.status", "in", OPEN_RUN_STATUSES)
    .forUpdate(["thread", "run"])
    .executeTakeFirst();
  if (known === undefined) throw new OwnershipLost(owner.runId);
  const { outcome, doubts } = whenCancelled(found, known);
  const events = [...before, ...doubts, ...lastEvents(outcome)];
  const lastSeq = known.last_seq + events.length + 1;
  const end = endEvent(outcome, { lastSeq, durationMs: known.duration_ms });
  const [steer] = await listAssigned(trx, owner.runId);
  // Where something other than the turn's end ends the run, the turn may go on.
  const isTurnLeft = known.turn_request_id !== null && outcome.turnCursor === undefined;
  const { notice: _notice, ...run } = await trx
    .with("ended", (db) =>
      db
        .updateTable("run")
        .set({
          status: outcome.status,
          last_seq: lastSeq,
          output: outcome.output === undefined ? null : storableText(outcome.output),
          ended_at: sql<Date>`now()`,
          events_expire_at: sql<Date>`now() + ${options.eventsRetentionMs}::bigint * interval '1 millisecond'`,
          ...(outcome.error === undefined ? {} : { error: json(outcome.error) }),
          ...(outcome.interrupt === undefined ? {} : { interrupt: json(outcome.interrupt) }),
          ...(outcome.usage === undefined ? {} : { usage: json(outcome.usage) }),
          ...defined({ turn_cursor: outcome.turnCursor }),
          ...(isTurnLeft ? { turn_left_at: sql<Date>`now()` } : {}),
          // Its question is answered by a steer that turnd has: it blocks nothing.
          ...(outcome.status === "interrupted" && steer !== undefined
            ? { released_at: sql<Date>`now()`, released_by: steer.planned_run_id }
            : {}),
        })
        .where("id", "=", owner.runId)
        .returningAll(),
    )
    .with("written", (db) =>
      db.insertInto("run_event").values(eventRows(owner.runId, known.last_seq, [...events, end])),
    )
    .with("attempted", (db) =>
      db
        .updateTable("run_attempt")
        .set({ ended_at: sql<Date>`now()`, outcome: outcome.status })
        .where("run_id", "=", owner.runId)
        .where("attempt", "=", owner.attempt),
    )
    .selectFrom("ended")
    .selectAll()
    .select(noticeOfEvents(owner.runId).as("notice"))
    .executeTakeFirstOrThrow();
  await account(trx, run, known.api_key_id, outcome.usage);
  if (isTurnLeft) await options.storage.jobs.send(trx, "turn", run.id);
  await options.onRunEnded(trx, run);
  const { source } = known;
  options.storage.afterCommit(() => {
    options.observer?.runEnded({ status: run.status, error: outcome.error?.type, source });
    if (outcome.usage !== undefined) options.observer?.tokensUsed(outcome.usage);
  });
  await dispatchNext(options.storage, trx, run, steer);
  return run;
}

/**
 * Who has cancelled a run expects it cancelled, also where what became of its turn cannot be known any more: an event
 * says so, and turnd is asked later to end the turn. A failure that the turn itself has ended with stands. Law: never pretend.
 */
function whenCancelled(
  outcome: Outcome,
  run: Pick<RunRow, "status" | "turn_request_id">,
): { readonly outcome: Outcome; readonly doubts: readonly NewRunEvent[] } {
  const { status, error, turnCursor } = outcome;
  const isAnswered = run.status === "cancel_requested" && status === "failed" && turnCursor === undefined;
  if (!isAnswered) return { outcome, doubts: [] };
  const { error: _error, evidence: _evidence, ...rest } = outcome;
  return {
    outcome: { ...rest, status: "cancelled", reason: "cancelled_by_user" },
    doubts:
      run.turn_request_id === null
        ? []
        : [
            {
              event: "custom",
              payload: { name: "svc.cancel_unconfirmed", error_type: error?.type, message: error?.message },
            },
          ],
  };
}

/** A steer that turnd has, or may have, goes on whatever became of its target; the rest of the queue only after success. */
async function dispatchNext(
  storage: Storage,
  trx: Transaction,
  run: RunRow,
  steer: RequestRow | undefined,
): Promise<void> {
  // Its manifest was frozen when it was accepted: nothing can refuse it any more.
  if (steer !== undefined) await cancelOfStopped(trx, await dispatch(storage, trx, steer));
  else if (run.status === "completed") await dispatchHead(storage, trx, run.thread_pk);
  // What waits is paused now, and its watchers are notified.
  else await notifyRequests(trx, run.thread_pk);
}

/** A disabled or deleted user's steer has a run only so that its turn is cancelled. */
async function cancelOfStopped(trx: Transaction, { id, user_id }: RunRow): Promise<void> {
  const stopped = await trx
    .selectFrom("account")
    .select("id")
    .where("id", "=", user_id)
    .where((where) => where.or([where("deleted_at", "is not", null), where("is_enabled", "=", false)]))
    .executeTakeFirst();
  if (stopped === undefined) return;
  await trx
    .updateTable("run")
    .set({ status: "cancel_requested", cancel_requested_at: sql<Date>`now()` })
    .where("id", "=", id)
    .execute();
}

function lastEvents({ error, evidence, interrupt }: Outcome): NewRunEvent[] {
  if (interrupt !== undefined) return [{ event: "interrupt", payload: { ...interrupt } }];
  if (error === undefined) return [];
  const { type, ...rest } = error;
  return [{ event: "error", payload: { error_type: type, ...rest, ...defined({ evidence }) } }];
}

function endEvent(outcome: Outcome, { lastSeq, durationMs }: { lastSeq: number; durationMs: number }): NewRunEvent {
  const usage = showUsage(outcome.usage);
  return {
    event: "end",
    payload: {
      status: outcome.status,
      ...defined({ reason: outcome.reason }),
      output_bytes: Buffer.byteLength(outcome.output ?? ""),
      ...(usage === null ? {} : { usage }),
      duration_ms: durationMs,
      events: lastSeq,
      degraded: outcome.isDegraded ?? false,
    },
  };
}
