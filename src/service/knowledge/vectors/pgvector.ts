import { sql } from "kysely";
import { chunkTable, vectorTable } from "../state/partitions.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Transaction } from "../../storage/transaction.ts";
import { canBeIndexed, hasHnsw, makeHnsw, searchHnsw } from "./hnsw.ts";
import type { ChunkVector, Vectors } from "./vectors.ts";
import type { VectorHit, VectorQuery } from "./vector-query.ts";

/**
 * Vectors as `halfvec`, compared in the knowledge base's partition by pgvector.
 *
 * @param approximateFrom - vectors of a knowledge base from which on an HNSW index is made; absent: none
 */
export function createPgvector(approximateFrom?: number): Vectors {
  return {
    name: "pgvector",
    mostChunks: undefined,
    write,
    approximate:
      approximateFrom === undefined
        ? undefined
        : {
            from: approximateFrom,
            isMissing: async (db, space) => canBeIndexed(space) && !(await hasHnsw(db, space)),
            make: makeHnsw,
          },
    async search(storage, query) {
      const space = { kbNo: query.kbNo, model: query.model, dims: query.vector.length };
      // Of some files all are compared: an index would have to pass all that are nearer and of others.
      if (approximateFrom !== undefined && query.fileIds === undefined && (await hasHnsw(storage.db, space))) {
        const hits = await searchHnsw(storage, space, query);
        if (hits !== undefined) return { index: "pgvector-hnsw", hits };
      }
      return { index: "pgvector", hits: await compareAll(storage, query) };
    },
  };
}

async function write(trx: Transaction, kbNo: number, model: string, vectors: readonly ChunkVector[]): Promise<void> {
  const rows = vectors.map(({ chunkId, vector }) => ({
    chunk_id: chunkId,
    dims: vector.length,
    text: literal(vector),
  }));
  await sql`
    insert into ${vectorTable(kbNo)} (kb_no, chunk_id, model, dims, embedding)
    select ${kbNo}::int, v.chunk_id, ${model}, v.dims, v.text::halfvec
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as v (chunk_id bigint, dims int, text text)`.execute(trx);
}

async function compareAll(
  storage: Storage,
  { kbNo, model, vector, limit, fileIds }: VectorQuery,
): Promise<readonly VectorHit[]> {
  const only = fileIds === undefined ? sql`` : sql`and c.file_id = any(${[...fileIds]}::text[])`;
  // The dimensions first: to compare vectors of two lengths is an error.
  const { rows } = await sql<{ id: number; distance: number }>`
    with fitting as materialized (
      select v.chunk_id, v.embedding from ${vectorTable(kbNo)} v
      where v.kb_no = ${kbNo}::int and v.model = ${model} and v.dims = ${vector.length}::int
    )
    select c.id, v.embedding <=> ${literal(vector)}::halfvec as distance
    from fitting v
    join ${chunkTable(kbNo)} c on c.kb_no = ${kbNo}::int and c.id = v.chunk_id
    join knowledge_file f on f.id = c.file_id and f.generation = c.generation and f.chunk_count > 0
    where true ${only}
    order by distance, c.id limit ${limit}::int`.execute(storage.db);
  // A vector of zeros has no direction and no distance.
  return rows.flatMap(({ id, distance }) => (Number.isFinite(distance) ? [{ chunkId: id, cosine: 1 - distance }] : []));
}

function literal(vector: Float32Array): string {
  return `[${vector.join(",")}]`;
}
