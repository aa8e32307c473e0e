import { sql } from "kysely";
import { z } from "zod";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";

/** What a worker reports of itself: whether a run could start in its sandboxes. */
export const WorkerState = z.object({ sandbox: z.object({ ok: z.boolean(), message: z.string().optional() }) });
export type WorkerState = z.infer<typeof WorkerState>;

const PREFIX = "worker:";

/** Writes that a worker is running; processes without one read it to find whether runs can start. */
export async function noteWorker(storage: Storage, name: string, state: WorkerState): Promise<void> {
  const value = json(state);
  await storage.db
    .insertInto("instance")
    .values({ key: PREFIX + name, value })
    .onConflict((conflict) => conflict.column("key").doUpdateSet({ value, updated_at: sql<Date>`now()` }))
    .execute();
}

/** A worker that stops is removed at once, not only when its row is old enough. */
export async function forgetWorker(storage: Storage, name: string): Promise<void> {
  await storage.db
    .deleteFrom("instance")
    .where("key", "=", PREFIX + name)
    .execute();
}

/** The workers of the cluster that wrote their row in the last `withinMs`. */
export async function findWorkers(storage: Storage, withinMs: number): Promise<WorkerState[]> {
  const rows = await storage.db
    .selectFrom("instance")
    .select("value")
    .where("key", "like", `${PREFIX}%`)
    .where("updated_at", ">", sql<Date>`now() - ${withinMs}::int * interval '1 millisecond'`)
    .execute();
  return rows.flatMap(({ value }) => WorkerState.safeParse(value).data ?? []);
}

/** Deletes what killed workers have left. */
export async function deleteSilentWorkers(storage: Storage): Promise<void> {
  await storage.db
    .deleteFrom("instance")
    .where("key", "like", `${PREFIX}%`)
    .where("updated_at", "<", sql<Date>`now() - interval '1 hour'`)
    .execute();
}
