import { sql } from "kysely";
import type { Storage } from "../../storage/storage.ts";
import { chunkTable, vectorTable } from "../state/partitions.ts";
import type { Vectors } from "./vectors.ts";

/** Chunks with vectors that a knowledge base may have without pgvector. */
const MOST_CHUNKS = 20_000;
/** Knowledge bases whose vectors are kept in memory. */
const MOST_KEPT = 4;

/** Unit vectors of one knowledge base and model. */
interface Matrix {
  readonly version: string;
  readonly dims: number;
  readonly chunkIds: readonly number[];
  readonly values: Float32Array;
}

/** Vectors as bytes, compared here: PostgreSQL without pgvector. */
export function createExactVectors(): Vectors {
  const kept = new Map<string, Matrix>();

  async function read(storage: Storage, kbNo: number, model: string, dims: number): Promise<Matrix> {
    const table = vectorTable(kbNo);
    const { rows: versions } = await sql<{ version: string }>`
      select coalesce(max(chunk_id), 0) || ':' || count(*) as version from ${table}
      where kb_no = ${kbNo}::int and model = ${model} and dims = ${dims}::int`.execute(storage.db);
    const version = versions[0]?.version ?? "";
    const key = `${kbNo}:${model}:${dims}`;
    const known = kept.get(key);
    kept.delete(key);
    const matrix = known?.version === version ? known : await load(storage, { kbNo, model, dims, version });
    kept.set(key, matrix);
    for (const oldest of kept.keys()) if (kept.size > MOST_KEPT) kept.delete(oldest);
    return matrix;
  }

  return {
    name: "exact",
    mostChunks: MOST_CHUNKS,
    async write(trx, kbNo, model, vectors) {
      const rows = vectors.map(({ chunkId, vector }) => ({
        chunk_id: chunkId,
        dims: vector.length,
        bytes: bytesOf(vector).toString("base64"),
      }));
      await sql`
        insert into ${vectorTable(kbNo)} (kb_no, chunk_id, model, dims, embedding)
        select ${kbNo}::int, v.chunk_id, ${model}, v.dims, decode(v.bytes, 'base64')
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as v (chunk_id bigint, dims int, bytes text)`.execute(
        trx,
      );
    },
    async search(storage, { kbNo, model, vector, limit, fileIds }) {
      const matrix = await read(storage, kbNo, model, vector.length);
      const only = fileIds === undefined ? sql`` : sql`and c.file_id = any(${[...fileIds]}::text[])`;
      const { rows } = await sql<{ ids: number[] | null }>`
        select jsonb_agg(c.id) as ids from ${chunkTable(kbNo)} c
        join knowledge_file f on f.id = c.file_id and f.generation = c.generation and f.chunk_count > 0
        where c.kb_no = ${kbNo}::int ${only}`.execute(storage.db);
      const live = new Set(rows[0]?.ids ?? []);
      const unit = normalise(vector);
      if (unit === undefined) return { index: "exact", hits: [] };
      const hits = matrix.chunkIds
        .flatMap((chunkId, row) => (live.has(chunkId) ? [{ chunkId, cosine: dot(matrix, row, unit) }] : []))
        .toSorted((left, right) => right.cosine - left.cosine || left.chunkId - right.chunkId)
        .slice(0, limit);
      return { index: "exact", hits };
    },
  };
}

async function load(
  storage: Storage,
  { kbNo, model, dims, version }: { kbNo: number; model: string; dims: number; version: string },
): Promise<Matrix> {
  const { rows } = await sql<{ id: number; bytes: Uint8Array }>`
    select chunk_id as id, embedding as bytes from ${vectorTable(kbNo)}
    where kb_no = ${kbNo}::int and model = ${model} and dims = ${dims}::int order by chunk_id`.execute(storage.db);
  const usable = rows.flatMap(({ id, bytes }) => {
    const unit = normalise(vectorOf(bytes));
    return unit === undefined ? [] : [{ id, unit }];
  });
  const values = new Float32Array(usable.length * dims);
  for (const [row, { unit }] of usable.entries()) values.set(unit, row * dims);
  return { version, dims, values, chunkIds: usable.map(({ id }) => id) };
}

function dot({ values, dims }: Matrix, row: number, unit: Float32Array): number {
  let sum = 0;
  const start = row * dims;
  for (let index = 0; index < dims; index += 1) sum += (values[start + index] ?? 0) * (unit[index] ?? 0);
  return sum;
}

/** Undefined for a vector of zeros: it has no direction. */
function normalise(vector: Float32Array): Float32Array | undefined {
  const length = Math.hypot(...vector);
  return length > 0 ? vector.map((value) => value / length) : undefined;
}

function bytesOf(vector: Float32Array): Buffer {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes;
}

function vectorOf(bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.byteLength / 4 }, (_value, index) => view.getFloat32(index * 4, true));
}
