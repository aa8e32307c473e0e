import { sql, type RawBuilder } from "kysely";
import { chunkTable, chunkTableName } from "../partitions.ts";
import type { Lexical } from "./lexical.ts";

/** BM25 by pg_textsearch 1.5.1: PGlite always, PostgreSQL 17 and newer where it is installed. */
export const bm25: Lexical = {
  name: "bm25",
  async createIndex(trx, kbNo) {
    await sql`create index ${sql.id(indexName(kbNo))} on ${chunkTable(kbNo)}
      using bm25 (tokens) with (text_config = 'simple')`.execute(trx);
  },
  // The index reads `tokens` itself.
  terms: () => sql`null::tsvector`,
  async search(storage, { kbNo, terms, limit, fileIds }) {
    if (terms.length === 0 || fileIds?.length === 0) return [];
    const asked = terms.join(" ");
    const only = fileIds === undefined ? sql`` : sql`and c.file_id = any(${[...fileIds]}::text[])`;
    return storage.transaction(async (trx) => {
      // Without statistics the planner sorts the whole table: 1 400 rows took 178 ms instead of 2.
      for (const plan of ["enable_seqscan", "enable_sort", "enable_bitmapscan"])
        await sql`set local ${sql.raw(plan)} = off`.execute(trx);
      const { rows } = await sql<{ id: number }>`
        select c.id from ${chunkTable(kbNo)} c
        join knowledge_file f on f.id = c.file_id and f.generation = c.generation and f.chunk_count > 0
        where c.kb_no = ${kbNo}::int ${only}
        order by c.tokens <@> ${queryOf(asked, kbNo)} limit ${limit}::int`.execute(trx);
      // The operator in the select list would be computed for every row that the scan passes.
      const scored = await sql<{ id: number; score: number }>`
        select id, -(tokens <@> ${queryOf(asked, kbNo)}) as score from ${chunkTable(kbNo)}
        where kb_no = ${kbNo}::int and id = any(${rows.map(({ id }) => id)}::bigint[])`.execute(trx);
      return scored.rows
        .flatMap(({ id, score }) => (score > 0 ? [{ chunkId: id, score }] : []))
        .toSorted((left, right) => right.score - left.score || left.chunkId - right.chunkId);
    });
  },
};

function indexName(kbNo: number): string {
  return `${chunkTableName(kbNo)}_bm25`;
}

function queryOf(asked: string, kbNo: number): RawBuilder<unknown> {
  return sql`to_bm25query(${asked}::text, ${sql.lit(indexName(kbNo))})`;
}
