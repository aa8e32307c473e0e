import { sql } from "kysely";
import { openEngine, type EngineChoice } from "../../../src/service/storage/engine.ts";
import type { Queries } from "../../../src/service/storage/transaction.ts";
import { percentile } from "../figures.ts";

const COMMITS = 300;
const WARM_UP = 100;

/** What one row costs through the service's own driver, with the same promise of durability. */
export interface BareCommit {
  /** begin, insert, commit: p50 of one after the other, in milliseconds. */
  readonly p50Ms: number;
  /** How many of them a second, one after the other. */
  readonly perSecond: number;
}

/** Inserts a row and commits, again and again. PGlite: in a database of its own. */
export async function measureCommit(database: EngineChoice): Promise<BareCommit> {
  const engine = await openEngine(database, { onConnectionLost: () => undefined });
  try {
    return await measureCommitOn(engine.db);
  } finally {
    await engine.close();
  }
}

/** The same on a database that is open. */
export async function measureCommitOn(db: Queries): Promise<BareCommit> {
  await sql`create table if not exists bench_bare (id bigint generated always as identity primary key, body jsonb)`.execute(
    db,
  );
  const times = await measureTimes(() =>
    db
      .transaction()
      .execute((trx) => sql`insert into bench_bare (body) values (${'{"query": "a few words"}'}::jsonb)`.execute(trx)),
  );
  return { p50Ms: percentile(times, 0.5), perSecond: 1_000 / (times.reduce((sum, time) => sum + time, 0) / COMMITS) };
}

/** Milliseconds of each of many, one after the other, once what is compiled on the way has been. */
export async function measureTimes(work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let count = -WARM_UP; count < COMMITS; count += 1) {
    const startedAt = performance.now();
    await work();
    if (count >= 0) times.push(performance.now() - startedAt);
  }
  return times;
}
