import { sql } from "kysely";
import { expect, test } from "vitest";
import type { Embedder } from "../../../../src/service/knowledge/models/embed.ts";
import { chunkTable, vectorTable } from "../../../../src/service/knowledge/state/partitions.ts";
import { createPgvector } from "../../../../src/service/knowledge/vectors/pgvector.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { openDesk } from "../../harness/knowledge.ts";
import { createRandom } from "../../harness/random.ts";
import { freshStorage } from "../../harness/storage.ts";

const DIMS = 32;
const FROM = 300;
const SECTIONS = 1_200;
const TOPICS = 40;
const QUERIES = 30;
const signal = new AbortController().signal;

/** Vectors in bundles, as texts of a few topics have them. */
function createVectors() {
  const random = createRandom(5);
  const draw = (): number[] => Array.from({ length: DIMS }, () => random.below(2_000) / 1_000 - 1);
  const topics = Array.from({ length: TOPICS }, draw);
  const draws = (): Float32Array => {
    const [topic, noise] = [random.pick(topics), draw()];
    return Float32Array.from(topic, (value, at) => value + 0.7 * (noise[at] ?? 0));
  };
  return { draws };
}

// PGlite has pgvector 0.8.7; the PostgreSQL of these tests has none.
test("an approximate index of vectors is made by a task, answers name it, and it finds what comparing all finds", async () => {
  const vectors = createVectors();
  const embedder: Embedder = {
    models: ["m-1", "m-2"],
    embed: async (_model, texts) => ({ vectors: texts.map(vectors.draws), cut: 0 }),
  };
  const storage = await freshStorage("pglite");
  const desk = await openDesk(storage, { embedder, approximateFrom: FROM });
  const { revision } = (await desk.ask("GET", desk.path)).body.database;
  await desk.ask("PUT", desk.path, {
    revision,
    embedding_model_spec: "m-1",
    chunking: { target_tokens: 100, max_tokens: 120, overlap_tokens: 0 },
  });
  // As long as one chunk may be.
  const section = (at: number): string => `# Section ${at}\n\n${`Text of section ${at}. `.repeat(18)}\n\n`;
  const ask = async (more = {}) => {
    const options = { search_mode: "vector", final_top_k: 5 };
    const url = `/api/knowledge/databases/external/${desk.kbId}/retrieve`;
    return (await desk.ask("POST", url, { query: "x", options, ...more })).body;
  };
  const tasks = async () => {
    const { rows } = await sql<{ status: string }>`
      select status from task where kind = 'knowledge_vector_index' order by created_at`.execute(storage.db);
    return rows.map(({ status }) => status);
  };

  const few = Array.from({ length: 20 }, (_none, at) => section(at)).join("");
  const [first = ""] = await desk.ingest({ "few.md": few });
  expect([await tasks(), (await ask()).index.vector]).toEqual([[], "pgvector"]);
  const many = Array.from({ length: SECTIONS }, (_none, at) => section(at)).join("");
  const [second = ""] = await desk.ingest({ "many.md": many });
  await waitFor("the index", async () => (await tasks())[0] === "success" || undefined);
  const answer = await ask();
  expect([answer.index.vector, answer.results.length]).toEqual(["pgvector-hnsw", 5]);
  // Of some files all are compared.
  const one = await ask({ file_ids: [first] });
  expect([one.index.vector, one.results.length]).toEqual(["pgvector", 5]);

  const { no: kbNo } = await storage.db
    .selectFrom("knowledge_base")
    .select("no")
    .where("id", "=", desk.kbId)
    .executeTakeFirstOrThrow();
  let found = 0;
  for (let count = 0; count < QUERIES; count += 1) {
    const query = { kbNo, model: "m-1", vector: vectors.draws(), limit: 10 };
    const exact = await createPgvector().search(storage, query);
    const near = await createPgvector(FROM).search(storage, query);
    expect([exact.index, near.index]).toEqual(["pgvector", "pgvector-hnsw"]);
    const right = new Set(exact.hits.map(({ chunkId }) => chunkId));
    found += near.hits.filter(({ chunkId }) => right.has(chunkId)).length;
    for (const [place, { cosine }] of near.hits.entries())
      expect(cosine).toBeLessThanOrEqual((near.hits[place - 1]?.cosine ?? 1) + 1e-9);
  }
  expect(found / (10 * QUERIES)).toBeGreaterThanOrEqual(0.95);
  await waitFor("PostgreSQL's count of uses of the index", async () => {
    const { rows } = await sql<{ scans: number }>`
      select idx_scan::int as scans from pg_stat_user_indexes where indexrelname like '%hnsw%'`.execute(storage.db);
    return (rows[0]?.scans ?? 0) >= QUERIES || undefined;
  });

  // Behind any number of chunks that are not live there are those that are, found by comparing all if need be.
  await sql`update knowledge_file set generation = generation + 1 where id = ${second}`.execute(storage.db);
  const left = await createPgvector(FROM).search(storage, { kbNo, model: "m-1", vector: vectors.draws(), limit: 10 });
  expect(left.hits).toHaveLength(10);
  await sql`update knowledge_file set generation = generation - 1 where id = ${second}`.execute(storage.db);

  // Another model of another length: its vectors fit beside the index of the first, and get their own.
  await sql`insert into ${vectorTable(kbNo)} (kb_no, chunk_id, model, dims, embedding)
    select kb_no, id + 1000000, 'm-2', 3, '[1,2,3]' from ${chunkTable(kbNo)} limit 5`.execute(storage.db);
  const { make, isMissing } = createPgvector(FROM).approximate ?? {};
  const space = { kbNo, model: "m-2", dims: 3 };
  expect(await isMissing?.(storage.db, space)).toBe(true);
  await make?.(storage, space, signal);
  expect(await isMissing?.(storage.db, space)).toBe(false);
  expect(await isMissing?.(storage.db, { kbNo, model: "m-1", dims: DIMS })).toBe(true);
  expect(await isMissing?.(storage.db, { ...space, dims: 5_000 })).toBe(false);
});

test("without pgvector no index is made", async () => {
  const embedder: Embedder = {
    models: ["m-1"],
    embed: async (_model, texts) => ({ vectors: texts.map(() => Float32Array.from([1, 2])), cut: 0 }),
  };
  const desk = await openDesk(await freshStorage("postgres"), { embedder, approximateFrom: 1 });
  const { revision } = (await desk.ask("GET", desk.path)).body.database;
  await desk.ask("PUT", desk.path, { revision, embedding_model_spec: "m-1" });
  await desk.ingest({ "a.md": "# A\n\nText." });
  const { rows } = await sql`select from task where kind = 'knowledge_vector_index'`.execute(desk.storage.db);
  expect(rows).toEqual([]);
});
