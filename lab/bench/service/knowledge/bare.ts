import { sql } from "kysely";
import { chunkTable, chunkTableName } from "../../../../src/service/knowledge/state/partitions.ts";
import type { Queries, Transaction } from "../../../../src/service/storage/transaction.ts";
import type { KnowledgeStage } from "./stage.ts";

const AT_ONCE = 200;
const COLUMNS = sql.raw(`file_id, generation, chunk_index, content, heading, start_line, end_line, start_char, end_char,
  page, tokens, token_count, term_count, terms`);

/**
 * The same rows from this process into a table with the same indexes: one statement for each 200 of them, and nothing else.
 *
 * @returns rows a second
 */
export async function insertBare({ storage, base }: KnowledgeStage, rows: number): Promise<number> {
  const table = chunkTable(base.no);
  await sql`create table bench_chunk (like ${table} including all)`.execute(storage.db);
  let [took, written, after] = [0, 0, 0];
  while (written < rows) {
    const read = await sql<{ id: number; row: unknown }>`
      select id, to_jsonb(c) as row from ${table} c where id > ${after}::bigint order by id limit ${AT_ONCE}::int`.execute(
      storage.db,
    );
    if (read.rows.length === 0) break;
    const startedAt = performance.now();
    const body = JSON.stringify(read.rows.map(({ row }) => row));
    await storage.transaction((trx) =>
      sql`insert into bench_chunk (kb_no, ${COLUMNS})
        select kb_no, ${COLUMNS} from jsonb_populate_recordset(null::bench_chunk, ${body}::jsonb)`.execute(trx),
    );
    took += performance.now() - startedAt;
    written += read.rows.length;
    after = read.rows.at(-1)?.id ?? Infinity;
  }
  await sql`drop table bench_chunk`.execute(storage.db);
  return written / (took / 1_000);
}

/** Ten rows by nothing but the engine's own ranking: no files, no exact scores, no passages. */
export async function askBare({ engine, storage, base }: KnowledgeStage, terms: readonly string[]): Promise<void> {
  const table = chunkTable(base.no);
  if (engine === "postgres") {
    const query = sql`(${terms.map((term) => `'${term}'`).join(" | ")}::tsquery)`;
    await sql`select id from ${table} where terms @@ ${query} order by ts_rank(terms, ${query}) desc limit 10`.execute(
      storage.db,
    );
    return;
  }
  await storage.transaction((trx) => askBareBm25(trx, chunkTableName(base.no), terms));
}

/** The same by pg_textsearch. */
export async function askBareBm25(trx: Transaction | Queries, table: string, terms: readonly string[]): Promise<void> {
  for (const plan of ["enable_seqscan", "enable_sort", "enable_bitmapscan"])
    await sql`set local ${sql.raw(plan)} = off`.execute(trx);
  await sql`select id from ${sql.table(table)}
    order by tokens <@> to_bm25query(${terms.join(" ")}::text, ${sql.lit(`${table}_bm25`)}) limit 10`.execute(trx);
}
