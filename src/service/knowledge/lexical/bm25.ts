import { sql, type RawBuilder } from "kysely";
import type { Transaction } from "../../storage/transaction.ts";
import { chunkTable, chunkTableName } from "../state/partitions.ts";
import type { Lexical, LexicalHit, LexicalQuery } from "./lexical.ts";

/** Chunks that are read for each one asked for: some are of generations that are not live. */
const FIRST_DEPTH = 2;
/** How much more is read when too few of them were live, or of the files that are asked for. */
const DEEPER = 8;

/** BM25 by pg_textsearch 1.5.1: PGlite always, PostgreSQL 17 and newer where it is installed. */
export const bm25: Lexical = {
  name: "bm25",
  async createIndex(trx, kbNo) {
    await sql`create index ${sql.id(indexName(kbNo))} on ${chunkTable(kbNo)}
      using bm25 (tokens) with (text_config = 'simple')`.execute(trx);
  },
  // The index reads `tokens` itself.
  terms: () => sql`null::tsvector`,
  async search(storage, query) {
    if (query.terms.length === 0 || query.fileIds?.length === 0) return [];
    return storage.transaction(async (trx) => {
      // Without statistics the planner sorts the whole table: 1 400 rows took 178 ms instead of 2.
      for (const plan of ["enable_seqscan", "enable_sort", "enable_bitmapscan"])
        await sql`set local ${sql.raw(plan)} = off`.execute(trx);
      const live = await findLive(trx, query);
      const { rows } = await sql<LexicalHit>`
        select id as "chunkId", -(${distanceTo(query)}) as score from ${chunkTable(query.kbNo)}
        where kb_no = ${query.kbNo}::int and id = any(${live}::bigint[])`.execute(trx);
      return rows
        .filter(({ score }) => score > 0)
        .toSorted((left, right) => right.score - left.score || left.chunkId - right.chunkId);
    });
  },
};

/**
 * The best chunks that are live and of the files that are asked for. The index has to know how many are wanted: joined with the
 * files before the limit it reads a thousand, three times as long. Their scores are computed anew, one by one: those that the
 * index orders by are at hand in a select list of the very same expression, but they count a repeated word once at times.
 */
async function findLive(trx: Transaction, query: LexicalQuery): Promise<number[]> {
  const { kbNo, fileIds, limit } = query;
  const only = fileIds === undefined ? sql`` : sql`and f.id = any(${[...fileIds]}::text[])`;
  for (let depth = FIRST_DEPTH * limit; ; depth *= DEEPER) {
    const { rows } = await sql<{ seen: number; ids: number[] | null }>`
      select count(*)::int as seen, jsonb_agg(best.id order by best.place) filter (where f.id is not null) as ids
      from (
        select id, file_id, generation, row_number() over () as place from (
          select id, file_id, generation from ${chunkTable(kbNo)} order by ${distanceTo(query)} limit ${depth}::int
        ) ordered
      ) best
      left join knowledge_file f on f.id = best.file_id and f.generation = best.generation and f.chunk_count > 0 ${only}`.execute(
      trx,
    );
    const { seen = 0, ids } = rows[0] ?? {};
    if (seen < depth || (ids ?? []).length >= limit) return (ids ?? []).slice(0, limit);
  }
}

function distanceTo({ kbNo, terms }: LexicalQuery): RawBuilder<number> {
  return sql`tokens <@> to_bm25query(${terms.join(" ")}::text, ${sql.lit(indexName(kbNo))})`;
}

function indexName(kbNo: number): string {
  return `${chunkTableName(kbNo)}_bm25`;
}
