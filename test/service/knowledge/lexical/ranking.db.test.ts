import fc from "fast-check";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { bm25 } from "../../../../src/service/knowledge/lexical/bm25.ts";
import { gin } from "../../../../src/service/knowledge/lexical/gin.ts";
import { chunkTable } from "../../../../src/service/knowledge/state/partitions.ts";
import type { Lexical } from "../../../../src/service/knowledge/lexical/lexical.ts";
import { newId } from "../../../../src/service/knowledge/state/new-id.ts";
import { byteLength, createReference, exactLength, type Tokens } from "../../harness/bm25-by-hand.ts";
import { openDesk, type Desk } from "../../harness/knowledge.ts";
import { ENGINES, freshStorage } from "../../harness/storage.ts";

// Few tokens, so that they meet.
const WORDS = ["wing", "flutter", "panel", "drag", "heat", "x15", "15", "naïve", "机翼", "颤振"];
const corpora = fc.record({
  texts: fc.array(fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 300, size: "max" }), {
    minLength: 1,
    maxLength: 25,
  }),
  query: fc.array(fc.constantFrom(...WORDS, "absent"), { minLength: 1, maxLength: 8 }),
});

describe.each(ENGINES)("%s", (kind) => {
  test("ranks small random collections as BM25 by hand does", { timeout: 180_000 }, async () => {
    const storage = await freshStorage(kind);
    const desk = await openDesk(storage);
    const engine = kind === "pglite" ? bm25 : gin;
    await fc.assert(
      fc.asyncProperty(corpora, async ({ texts, query }) => {
        const base = await fill(desk, engine, texts);
        const hits = await engine.search(storage, { ...base, terms: query, limit: 100 });
        // pg_textsearch keeps the length of a text in one byte, as Lucene does, and counts in single precision.
        const [lengthOf, near] = kind === "pglite" ? [byteLength, 1e-5] : [exactLength, 1e-9];
        const scores = createReference(texts, lengthOf)(query);
        const matching = scores.flatMap((score, index) => (score > 0 ? [index] : []));
        expect(hits.map(({ chunkId }) => base.indexOf(chunkId)).toSorted((a, b) => a - b)).toEqual(matching);
        for (const { chunkId, score } of hits) {
          const right = scores[base.indexOf(chunkId)] ?? 0;
          expect(Math.abs(score - right) / right, `${score}, by hand ${right}`).toBeLessThan(near);
        }
        for (const [place, { score }] of hits.entries())
          expect(score).toBeLessThanOrEqual(hits[place - 1]?.score ?? Infinity);
      }),
      { endOnFailure: true, numRuns: kind === "pglite" ? 8 : 20 },
    );
  });

  test("live chunks are found behind any number of better ones that are not live", async () => {
    const storage = await freshStorage(kind);
    const desk = await openDesk(storage);
    const engine = kind === "pglite" ? bm25 : gin;
    const base = await fill(desk, engine, [["wing", "heat"], ["heat"], ["wing", "heat", "drag"]]);
    const table = chunkTable(base.kbNo);
    await sql`insert into ${table} (kb_no, file_id, generation, chunk_index, content, start_line, end_line, start_char,
        end_char, tokens, token_count, term_count, terms)
      select kb_no, file_id, 2, n, 'wing', 1, 1, 0, 1, 'wing', 1, 1, ${engine.terms(sql<string>`'wing'`)}
      from ${table}, generate_series(1, 300) n where chunk_index = 0`.execute(storage.db);
    const hits = await engine.search(storage, { ...base, terms: ["wing"], limit: 2 });
    expect(hits.map(({ chunkId }) => base.indexOf(chunkId))).toEqual([0, 2]);
    expect(await engine.search(storage, { ...base, terms: ["wing"], limit: 2, fileIds: ["another"] })).toEqual([]);
  });
});

/** A knowledge base of one file, with these chunks as its live generation. */
async function fill({ ask, storage }: Desk, engine: Lexical, texts: readonly Tokens[]) {
  const made = await ask("POST", "/api/knowledge/databases", { name: `kb ${crypto.randomUUID()}` });
  const kbId: string = made.body.database.kb_id;
  const { no: kbNo } = await storage.db
    .selectFrom("knowledge_base")
    .select("no")
    .where("id", "=", kbId)
    .executeTakeFirstOrThrow();
  const file = { id: newId("file"), kb_id: kbId, filename: "a.md", file_type: "md", content_hash: "x", size: 1 };
  await storage.db
    .insertInto("knowledge_file")
    .values({
      ...file,
      object_key: file.id,
      file_path: file.id,
      markdown_key: file.id,
      status: "indexed",
      generation: 1,
      chunk_count: texts.length,
      term_count: texts.reduce((sum, text) => sum + text.length, 0),
    })
    .execute();
  const rows = texts.map((text, at) => ({ at, tokens: text.join(" ") }));
  const { rows: chunks } = await sql<{ id: number }>`
    insert into ${chunkTable(kbNo)} (kb_no, file_id, generation, chunk_index, content, start_line, end_line, start_char,
      end_char, tokens, token_count, term_count, terms)
    select ${kbNo}::int, ${file.id}, 1, c.at, c.tokens, 1, 1, 0, 1, c.tokens, 1,
      cardinality(string_to_array(c.tokens, ' ')), ${engine.terms(sql<string>`c.tokens`)}
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as c (at int, tokens text)
    order by c.at returning id`.execute(storage.db);
  const ids = chunks.map(({ id }) => id).toSorted((left, right) => left - right);
  return { kbNo, kbId, indexOf: (chunkId: number): number => ids.indexOf(chunkId) };
}
