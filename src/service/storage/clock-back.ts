import { sql, type Kysely } from "kysely";
import type { Database } from "./tables.ts";

/** Longest wait that a retry of a queue may have. */
export interface LongestWait {
  readonly seconds: number;
  readonly queues: readonly string[];
}

/**
 * Moves what is in the future to now, after the database's clock went back: jobs that were sent before would otherwise wait
 * until it has caught up, those of ended workers would be kept as long, and no sweep would be taken for slots that were swept.
 *
 * @returns how many jobs were moved
 */
export async function catchUpWithClock(
  db: Kysely<Database>,
  schema: string,
  { seconds, queues }: LongestWait,
): Promise<number> {
  const job = sql.id(schema, "job");
  // Two sessions of one database may see a moment's difference; a minute is none.
  const late = sql`now() + interval '1 minute'`;
  const latest = sql`${late} + case when name = any(${[...queues]}::text[]) then ${seconds}::int else 0 end * interval '1 second'`;
  const swept =
    await sql`delete from ${job} where name = 'sweep' and state <> 'active' and created_on > ${late}`.execute(db);
  const moved = await sql`
    update ${job} set
      start_after = case when state < 'active' and start_after > ${latest} then now() else start_after end,
      started_on = case when started_on > now() then now() else started_on end,
      heartbeat_on = case when heartbeat_on > now() then now() else heartbeat_on end
    where (state < 'active' and start_after > ${latest})
      or (state = 'active' and (started_on > ${late} or heartbeat_on > ${late}))`.execute(db);
  return Number(swept.numAffectedRows ?? 0n) + Number(moved.numAffectedRows ?? 0n);
}
