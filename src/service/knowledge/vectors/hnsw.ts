import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { Storage } from "../../storage/storage.ts";
import type { Queries, Transaction } from "../../storage/transaction.ts";
import { chunkTable, vectorTable, vectorTableName } from "../state/partitions.ts";
import type { VectorHit, VectorQuery } from "./vector-query.ts";
import type { VectorSpace } from "./vector-query.ts";

/** Most dimensions that pgvector indexes as `halfvec`. */
const MOST_DIMS = 4_000;
/** Vectors that are kept in view at once: pgvector's own is 40, which finds 95 of 100 on hard sets. */
const EF_SEARCH = 200;
/** Vectors that a scan may pass: those of generations that are not live are among them. */
const MOST_SCANNED = 100_000;
const FIRST_DEPTH = 2;
const DEEPER = 8;

export const canBeIndexed = ({ dims }: Pick<VectorSpace, "dims">): boolean => dims <= MOST_DIMS;

/** Whether there is a whole index over them. */
export async function hasHnsw(db: Queries | Transaction, space: VectorSpace): Promise<boolean> {
  const { rows } = await sql`
    select from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relname = ${indexName(space)} and i.indisvalid`.execute(db);
  return rows.length > 0;
}

/**
 * Makes the index while files go on being indexed, in place of what an attempt before it or another model has left. A build
 * that is cancelled leaves an index that no search uses.
 *
 * @throws the signal's reason, and the database's errors
 */
export async function makeHnsw({ db, engine }: Storage, space: VectorSpace, signal: AbortSignal): Promise<void> {
  if (await hasHnsw(db, space)) return;
  const left = await sql<{ name: string }>`
    select relname as name from pg_class where relkind = 'i'
      and relname like ${`${vectorTableName(space.kbNo)}_hnsw_%`.replaceAll("_", "\\_")}`.execute(db);
  for (const { name } of left.rows) await sql`drop index if exists ${sql.id(name)}`.execute(db);
  signal.throwIfAborted();
  await db.connection().execute(async (own) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(own);
    const pid = rows[0]?.pid ?? 0;
    // PGlite has one connection: no other could stop it.
    const cancel = (): void => void sql`select pg_cancel_backend(${pid}::int)`.execute(db).catch(() => undefined);
    if (engine === "postgres") signal.addEventListener("abort", cancel, { once: true });
    try {
      // The longest statement of a query is no measure for a build.
      await sql`set statement_timeout = 0`.execute(own);
      await sql`create index concurrently ${sql.id(indexName(space))} on ${vectorTable(space.kbNo)}
        using hnsw ((embedding::${halfvec(space)}) halfvec_cosine_ops) where ${isOf(space)}`.execute(own);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener("abort", cancel);
      await sql`reset statement_timeout`.execute(own);
    }
  });
}

/** The nearest by the index, nearest first; undefined when what it may pass held too few live ones. */
export async function searchHnsw(
  storage: Storage,
  space: VectorSpace,
  { vector, limit }: Pick<VectorQuery, "vector" | "limit">,
): Promise<readonly VectorHit[] | undefined> {
  const distance = sql`embedding::${halfvec(space)} <=> ${`[${vector.join(",")}]`}::${halfvec(space)}`;
  return storage.transaction(async (trx) => {
    for (const plan of ["enable_seqscan", "enable_sort", "enable_bitmapscan"])
      await sql`set local ${sql.raw(plan)} = off`.execute(trx);
    await sql`set local hnsw.iterative_scan = strict_order`.execute(trx);
    await sql`set local hnsw.ef_search = ${sql.lit(EF_SEARCH)}`.execute(trx);
    await sql`set local hnsw.max_scan_tuples = ${sql.lit(MOST_SCANNED)}`.execute(trx);
    for (let depth = FIRST_DEPTH * limit; depth <= MOST_SCANNED; depth *= DEEPER) {
      const { rows } = await sql<{ seen: number; hits: { chunkId: number; cosine: number }[] | null }>`
        select count(*)::int as seen, jsonb_agg(jsonb_build_object('chunkId', c.id, 'cosine', 1 - nearest.distance)
          order by nearest.distance, c.id) filter (where f.id is not null) as hits
        from (
          select chunk_id, ${distance} as distance from ${vectorTable(space.kbNo)} where ${isOf(space)}
          order by ${distance} limit ${depth}::int
        ) nearest
        join ${chunkTable(space.kbNo)} c on c.kb_no = ${space.kbNo}::int and c.id = nearest.chunk_id
        left join knowledge_file f on f.id = c.file_id and f.generation = c.generation and f.chunk_count > 0`.execute(
        trx,
      );
      const { seen = 0, hits } = rows[0] ?? {};
      const found = hits ?? [];
      if (found.length >= limit) return found.slice(0, limit);
      if (seen < depth) return undefined;
    }
    return undefined;
  });
}

/** As literals: an index of a part is used only where the planner sees that the part is what is asked for. */
function isOf({ model, dims }: VectorSpace) {
  return sql`model = ${sql.lit(model)} and dims = ${sql.lit(dims)}`;
}

function halfvec({ dims }: VectorSpace) {
  return sql.raw(`halfvec(${Math.trunc(dims)})`);
}

function indexName({ kbNo, model, dims }: VectorSpace): string {
  const hash = createHash("sha256").update(`${dims} ${model}`).digest("hex").slice(0, 12);
  return `${vectorTableName(kbNo)}_hnsw_${hash}`;
}
