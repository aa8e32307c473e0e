import { sql, type RawBuilder } from "kysely";
import type { Transaction } from "../../storage/transaction.ts";

/** The chunks of one knowledge base: a partition of its own, so that its ranking depends only on it. */
export function chunkTable(kbNo: number): RawBuilder<unknown> {
  return sql.table(chunkTableName(kbNo));
}

/** Its name: made by the service, and safe in SQL. */
export function chunkTableName(kbNo: number): string {
  return `knowledge_chunk_${assertNumber(kbNo)}`;
}

/** The vectors of one knowledge base. */
export function vectorTable(kbNo: number): RawBuilder<unknown> {
  return sql.table(vectorTableName(kbNo));
}

/** Its name: made by the service, and safe in SQL. */
export function vectorTableName(kbNo: number): string {
  return `knowledge_vector_${assertNumber(kbNo)}`;
}

/** Makes both, in the transaction that makes the knowledge base. */
export async function createPartitions(trx: Transaction, kbNo: number): Promise<void> {
  const no = sql.lit(assertNumber(kbNo));
  await sql`create table ${chunkTable(kbNo)} partition of knowledge_chunk for values in (${no})`.execute(trx);
  await sql`create table ${vectorTable(kbNo)} partition of knowledge_vector for values in (${no})`.execute(trx);
}

/** Drops both. Safe to repeat. */
export async function dropPartitions(trx: Transaction, kbNo: number): Promise<void> {
  await sql`drop table if exists ${vectorTable(kbNo)}`.execute(trx);
  await sql`drop table if exists ${chunkTable(kbNo)}`.execute(trx);
}

/** Deletes chunks of a file with their vectors; every generation but `keep`. @returns how many */
export async function deleteChunks(
  trx: Transaction,
  kbNo: number,
  { fileIds, keep, limit }: { fileIds: readonly string[]; keep?: number | undefined; limit?: number },
): Promise<number> {
  const but = keep === undefined ? sql`` : sql`and generation <> ${keep}::int`;
  const most = limit === undefined ? sql`` : sql`limit ${limit}::int`;
  const { rows } = await sql<{ count: number }>`
    with doomed as materialized (
      select id from ${chunkTable(kbNo)} where kb_no = ${kbNo}::int and file_id = any(${[...fileIds]}::text[]) ${but} ${most}
    ), vectors as (
      delete from ${vectorTable(kbNo)} where kb_no = ${kbNo}::int and chunk_id in (select id from doomed)
    ), chunks as (
      delete from ${chunkTable(kbNo)} where kb_no = ${kbNo}::int and id in (select id from doomed)
    )
    select count(*)::int as count from doomed`.execute(trx);
  return rows[0]?.count ?? 0;
}

function assertNumber(kbNo: number): number {
  if (!Number.isSafeInteger(kbNo) || kbNo < 1) throw new Error(`not the number of a knowledge base: ${kbNo}`);
  return kbNo;
}
