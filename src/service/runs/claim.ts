import { sql } from "kysely";
import type { Storage } from "../storage/storage.ts";
import type { FinishOptions, Ownership } from "./finish.ts";
import { insertEvents, type RunRow } from "./rows.ts";

/** A run that this attempt owns, and how often attempts in a row came to nothing. */
export interface Claim {
  readonly run: RunRow;
  readonly stalledAttempts: number;
}

/**
 * Makes this attempt the run's owner: from now on every write of an earlier one is refused (law 3).
 *
 * @returns undefined when the run has ended
 */
export async function claim(
  { storage }: Pick<FinishOptions, "storage">,
  runId: string,
  worker: string,
): Promise<Claim | undefined> {
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
    const run = await trx
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
      .returningAll()
      .executeTakeFirstOrThrow();
    await insertEvents(trx, runId, before.last_seq, events);
    return { run, stalledAttempts };
  });
}

type Trx = Parameters<Parameters<Storage["transaction"]>[0]>[0];

/** What became of the attempt before: handed over, or lost, and if lost whether it had done anything. */
async function judgeLast(trx: Trx, run: RunRow): Promise<{ stalledAttempts: number; reason?: "handed_over" | "lost" }> {
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
export async function noteMoved(db: Storage["db"] | Trx, { runId, attempt }: Ownership): Promise<void> {
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
