import { sql } from "kysely";
import type { Queries } from "../storage/transaction.ts";

/** What the database can do beyond plain PostgreSQL. */
export interface DatabaseFeatures {
  /** pgvector: vectors are `halfvec`; otherwise bytes. */
  readonly hasVector: boolean;
  /** pg_textsearch: BM25 as an index. */
  readonly hasTextSearch: boolean;
}

/** Asks what the migration could take. The type of `knowledge_vector.embedding` decides for vectors: it does not change later. */
export async function readFeatures(db: Queries): Promise<DatabaseFeatures> {
  const { rows } = await sql<{ vector: boolean; text_search: boolean }>`
    select exists (
        select from information_schema.columns
        where table_name = 'knowledge_vector' and column_name = 'embedding' and udt_name = 'halfvec'
      ) as vector,
      exists (select from pg_extension where extname = 'pg_textsearch') as text_search`.execute(db);
  return { hasVector: rows[0]?.vector === true, hasTextSearch: rows[0]?.text_search === true };
}
