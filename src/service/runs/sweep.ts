import { sql } from "kysely";
import { OPEN_RUN_STATUSES } from "../protocol/runs.ts";
import type { Storage } from "../storage/storage.ts";

/** Runs of one pass, so that no statement holds the table for long. */
const RUNS_AT_ONCE = 200;

/** Deletes the events of runs that ended long ago; their results stay. @returns how many runs */
export async function deleteExpiredEvents(storage: Storage): Promise<number> {
  return storage.transaction(async (trx) => {
    const runs = await trx
      .selectFrom("run")
      .select("id")
      .where("events_expire_at", "<", sql<Date>`now()`)
      .orderBy("events_expire_at")
      .limit(RUNS_AT_ONCE)
      .forUpdate()
      .skipLocked()
      .execute();
    const ids = runs.map(({ id }) => id);
    if (ids.length === 0) return 0;
    await trx.deleteFrom("run_event").where("run_id", "in", ids).execute();
    await trx.updateTable("run").set({ events_expire_at: null }).where("id", "in", ids).execute();
    return ids.length;
  });
}

/**
 * Gives every open run, and every turn left behind, its job again where that is missing: no row waits for a lost job.
 * Law: the row is the truth.
 */
export async function ensureRunJobs(storage: Storage): Promise<void> {
  const left = await storage.db
    .selectFrom("run")
    .select("id")
    .where("turn_left_at", "<", sql<Date>`now() - interval '10 seconds'`)
    .execute();
  for (const { id } of left) await storage.jobs.ensure("turn", id);
  const runs = await storage.db
    .selectFrom("run")
    .select("id")
    .where("status", "in", OPEN_RUN_STATUSES)
    .where("created_at", "<", sql<Date>`now() - interval '10 seconds'`)
    .execute();
  for (const { id } of runs) await storage.jobs.ensure("run", id);
}
