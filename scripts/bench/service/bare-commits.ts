import { sql } from "kysely";
import { openEngine, type EngineChoice } from "../../../src/service/storage/engine.ts";
import { percentile } from "../figures.ts";

const COMMITS = 200;

/** Milliseconds of a bare insert with its commit, p50, one after the other. PGlite: in a database of its own. */
export async function measureCommit(database: EngineChoice): Promise<number> {
  const engine = await openEngine(database, { onConnectionLost: () => undefined });
  try {
    await sql`create table if not exists bench_bare (id bigint generated always as identity primary key, body jsonb)`.execute(
      engine.db,
    );
    const times: number[] = [];
    for (let count = 0; count < COMMITS; count += 1) {
      const startedAt = performance.now();
      await sql`insert into bench_bare (body) values ('{"query": "a few words"}')`.execute(engine.db);
      times.push(performance.now() - startedAt);
    }
    return percentile(times, 0.5);
  } finally {
    await engine.close();
  }
}
