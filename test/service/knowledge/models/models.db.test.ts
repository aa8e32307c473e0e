import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { createEmbedder } from "../../../../src/service/knowledge/models/embed.ts";
import { createReranker } from "../../../../src/service/knowledge/models/rerank.ts";
import { openDesk } from "../../harness/knowledge.ts";
import { ENGINES, freshStorage } from "../../harness/storage.ts";
import { startWebServer } from "../../harness/web-server.ts";

const TEXTS = {
  "wings.md": "# Wings\n\nA slender wing has little drag.",
  "heat.md": "# Heat\n\nThe heat of a blunt body.",
  "cats.md": "# Cats\n\nA cat sleeps on the wing chair.",
};
/** Directions of meaning that a test's model has: what words alone do not show. */
const MEANINGS: readonly [RegExp, readonly number[]][] = [
  [/slender|aircraft/, [1, 0, 0.1]],
  [/heat|warmth/, [0, 1, 0.1]],
  [/cat|pet/, [0.1, 0, 1]],
];

/** Speaks as OpenAI's `/embeddings` and Cohere's `/rerank` do; the answers have the shapes of their documentation. */
async function startModels() {
  let failing = 0;
  let most = Infinity;
  const server = await startWebServer(({ url, body }, response) => {
    const asked = JSON.parse(body);
    if (failing > 0) {
      failing -= 1;
      response.setHeader("retry-after", "0");
      return reply(response, 429, { error: { message: "Rate limit reached", type: "requests", code: "rate_limit" } });
    }
    if (url === "/v1/rerank") {
      const results = asked.documents.map((text: string, index: number) => ({
        index,
        relevance_score: text.includes("cat") ? 0.9 : 0.2,
      }));
      return reply(response, 200, { id: "r", results, meta: { api_version: { version: "1" } } });
    }
    if (asked.input.some((text: string) => text.length > most))
      return reply(response, 400, {
        error: { message: "maximum context length is 8192 tokens", type: "invalid_request_error" },
      });
    const data = asked.input.map((text: string, index: number) => ({
      object: "embedding",
      index,
      embedding: MEANINGS.find(([pattern]) => pattern.test(text))?.[1] ?? [0.5, 0.5, 0.5],
    }));
    // In another order than asked: `index` counts.
    return reply(response, 200, {
      object: "list",
      data: data.toReversed(),
      model: asked.model,
      usage: { prompt_tokens: 8, total_tokens: 8 },
    });
  });
  const baseUrl = `${server.url}/v1`;
  return {
    received: server.received,
    failNext: (count: number): void => void (failing = count),
    takeAtMost: (length: number): void => void (most = length),
    embedder: createEmbedder({ baseUrl, key: "key-of-the-test", models: ["m-1", "m-2"], batch: 2 }),
    reranker: createReranker({ baseUrl, key: undefined, model: "r-1" }),
    /** Nothing listens there. */
    absent: createReranker({ baseUrl: "http://127.0.0.1:9/v1", key: undefined, model: "r-1" }),
  };
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

describe.each(ENGINES)("%s", (kind) => {
  test("a knowledge base with an embedding model answers by words, by meaning and by both, and names which", async () => {
    const models = await startModels();
    const desk = await openDesk(await freshStorage(kind), models);
    const { ask, path } = desk;
    const retrieve = async (query: string, options = {}, more = {}) =>
      (await ask("POST", `/api/knowledge/databases/external/${desk.kbId}/retrieve`, { query, options, ...more })).body;
    const sources = ({ results }: { results: { metadata: { source: string } }[] }): string[] =>
      results.map(({ metadata }) => metadata.source);

    // Without a model nothing pretends to be semantic.
    const ids = await desk.ingest(TEXTS);
    expect(await retrieve("aircraft", { search_mode: "vector" })).toMatchObject({
      detail: { code: "embedding_not_configured" },
    });
    expect(await retrieve("wing")).toMatchObject({
      search_mode: "keyword",
      index: { vector: null, embedding_model: null },
    });
    expect(models.received).toEqual([]);

    // A model: nothing has vectors yet, and `auto` shows that by what it names.
    const { revision } = (await ask("GET", path)).body.database;
    const unknown = await ask("PUT", path, { revision, embedding_model_spec: "m-3" });
    expect(unknown).toMatchObject({ status: 422, body: { detail: { code: "embedding_model_unknown" } } });
    const chosen = await ask("PUT", path, { revision, embedding_model_spec: "default", reindex: true });
    expect(chosen).toMatchObject({ status: 200, body: { database: { embedding_model_spec: "m-1" } } });
    models.failNext(1);
    if (chosen.body.task_id !== null) await desk.ended(chosen.body.task_id);
    for (const id of ids) expect(await desk.file(id)).toMatchObject({ status: "indexed", generation: 2 });
    expect((await ask("GET", path)).body.database).toMatchObject({ embedding_dims: 3 });
    const [first] = models.received;
    expect(first?.headers["authorization"]).toBe("Bearer key-of-the-test");
    expect(JSON.parse(first?.body ?? "")).toMatchObject({ model: "m-1", encoding_format: "float" });

    const vectors = kind === "pglite" ? "pgvector" : "exact";
    const meant = await retrieve("aircraft", { search_mode: "vector", final_top_k: 1 });
    expect(meant).toMatchObject({
      search_mode: "vector",
      index: { lexical: null, vector: vectors, embedding_model: "m-1", reranker: null },
    });
    expect(sources(meant)).toEqual(["wings.md"]);
    expect(meant.results[0].metadata.scores.cosine).toBeCloseTo(1, 2);
    const both = await retrieve("pet chair");
    expect(both).toMatchObject({ search_mode: "hybrid", index: { lexical: kind === "pglite" ? "bm25" : "bm25-gin" } });
    expect(sources(both)).toEqual(["cats.md", expect.any(String), expect.any(String)]);
    const { bm25, cosine, rrf } = both.results[0].metadata.scores;
    expect([bm25 > 0, cosine > 0.9, both.results[0].score]).toEqual([true, true, rrf]);
    // The first of both lists, each with half of the weight.
    expect(rrf).toBeCloseTo(0.5 / 61 + 0.5 / 61, 9);
    expect(both.results[1].score).toBeLessThan(0.5 / 61);
    expect(sources(await retrieve("pet", { search_mode: "vector", similarity_threshold: 0.9 }))).toEqual(["cats.md"]);
    expect(await retrieve("wing", { search_mode: "keyword", similarity_threshold: 0.9 })).toMatchObject({
      warnings: ["similarity_threshold_ignored"],
    });
    expect(sources(await retrieve("aircraft", { search_mode: "vector" }, { file_ids: [ids[1]] }))).toEqual(["heat.md"]);

    const reranked = await retrieve("wing", { use_reranker: true, search_mode: "keyword" });
    expect(reranked).toMatchObject({ index: { reranker: "r-1" }, warnings: [] });
    expect(reranked.results[0].metadata.scores).toMatchObject({ rerank: 0.9 });
    expect(sources(reranked)).toEqual(["cats.md", "wings.md"]);

    // A file without vectors: `auto` goes back to words; another length of vectors is refused.
    const late = await desk.add("late.md", "# Late\n\nA wing again.");
    models.takeAtMost(3);
    const { body: parsing } = await ask("POST", `${path}/documents/parse`, [late]);
    await desk.ended(parsing.task_id);
    const { body: indexing } = await ask("POST", `${path}/documents/index`, [late]);
    await desk.ended(indexing.task_id);
    expect(await desk.file(late)).toMatchObject({ status: "error_indexing", error: { code: "embedding_failed" } });
    expect(await retrieve("wing", { search_mode: "vector" })).toMatchObject({ detail: { code: "embedding_failed" } });
    expect(await retrieve("wing", { search_mode: "keyword" })).toMatchObject({ search_mode: "keyword" });
    const { revision: now } = (await ask("GET", path)).body.database;
    expect(await ask("PUT", path, { revision: now, embedding_model_spec: "m-2" })).toMatchObject({
      status: 409,
      body: { detail: { code: "embedding_model_fixed" } },
    });
  });
});

test("texts that are too long are halved and cut, and a reranker that is away leaves the order as it was", async () => {
  const models = await startModels();
  models.takeAtMost(100);
  const desk = await openDesk(await freshStorage("postgres"), { ...models, reranker: models.absent });
  const { ask, path } = desk;
  const { revision } = (await ask("GET", path)).body.database;
  await ask("PUT", path, { revision, embedding_model_spec: "m-2" });
  const [id] = await desk.ingest({ "long.md": `# Heat\n\n${"The heat of a blunt body. ".repeat(20)}` });
  const file = await desk.file(id ?? "");
  expect(file).toMatchObject({ status: "indexed", warnings: [expect.stringMatching(/^1 chunks were too long/)] });
  const { body } = await ask("POST", `/api/knowledge/databases/external/${desk.kbId}/retrieve`, {
    query: "warmth",
    options: { use_reranker: true },
  });
  expect(body).toMatchObject({ search_mode: "hybrid", index: { reranker: null }, warnings: ["rerank_failed"] });
  expect(body.results).toHaveLength(1);
});
