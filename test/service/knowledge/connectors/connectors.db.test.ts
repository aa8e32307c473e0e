import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ServerResponse } from "node:http";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { readCredentials, type Credential } from "../../../../src/service/knowledge/connectors/credentials.ts";
import { createOutbound } from "../../../../src/service/outbound/outbound.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { openDesk } from "../../harness/knowledge.ts";
import { freshStorage } from "../../harness/storage.ts";
import { startWebServer, type Received } from "../../harness/web-server.ts";

const KEY = "secret-0123456789-of-the-connector";

/** A system of others on loopback, and a knowledge base over it. */
async function openRemote(
  type: Credential["type"],
  connector: Readonly<Record<string, unknown>>,
  answer: (received: Received, response: ServerResponse) => void,
  connectorMs = 30_000,
) {
  const lines: string[] = [];
  const server = await startWebServer(answer);
  const desk = await openDesk(await freshStorage("postgres"), {
    outbound: createOutbound({ allow: [`127.0.0.1:${server.port}`], nameServers: ["127.0.0.1:9"] }),
    connectorMs,
    credentials: new Map([["team", { type, base_url: `${server.url}/${type === "dify" ? "v1" : ""}`, api_key: KEY }]]),
    logger: pino({ level: "trace" }, { write: (line: string) => void lines.push(line) }),
  });
  const make = (more: Readonly<Record<string, unknown>>) =>
    desk.ask("POST", "/api/knowledge/databases", { name: crypto.randomUUID(), kb_type: type, connector: more });
  const made = await make({ credential: "team", ...connector });
  const kbId: string = made.body.database.kb_id;
  const ask = (body: Readonly<Record<string, unknown>>) =>
    desk.ask("POST", `/api/knowledge/databases/external/${kbId}/retrieve`, body);
  return { desk, server, lines, make, made, kbId, ask };
}

const json = (response: ServerResponse, body: unknown): void =>
  void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));

// As the platform's documentation shows it: https://docs.dify.ai, "Retrieve chunks from a knowledge base".
const DIFY_ANSWER = {
  query: { content: "What is Dify?" },
  records: [
    {
      segment: {
        id: "f3d1c7be-9f3a-40d8-8eb8-3a1ef9c3f2c1",
        position: 1,
        document_id: "a8e0e5b5-78c6-4130-a5ce-25feb0e0b4ac",
        content: "An open-source platform.",
        sign_content: "",
        word_count: 9,
        keywords: ["platform"],
        enabled: true,
        disabled_at: null,
        document: {
          id: "a8e0e5b5-78c6-4130-a5ce-25feb0e0b4ac",
          data_source_type: "upload_file",
          name: "guide.txt",
          doc_type: null,
          doc_metadata: null,
        },
      },
      child_chunks: [],
      score: 0.92,
      tsne_position: null,
      files: [],
      summary: null,
    },
  ],
};

test("dify: a question goes there by its mode, and the answer keeps the score it was given", async () => {
  const remote = await openRemote("dify", { dataset_id: "d-1" }, (_received, response) => json(response, DIFY_ANSWER));
  expect(remote.made.body.database).toMatchObject({
    supports_documents: false,
    connector: { credential: "team" },
    index: { lexical: "dify", vector: "dify" },
  });
  expect(JSON.stringify(remote.made.body)).not.toContain(KEY);
  const { body } = await remote.ask({ query: "what is it", options: { final_top_k: 3, similarity_threshold: 0.4 } });
  expect(body).toMatchObject({
    search_mode: "hybrid",
    index: { lexical: "dify", vector: "dify", embedding_model: null, reranker: null },
    warnings: [],
    results: [
      {
        id: "f3d1c7be-9f3a-40d8-8eb8-3a1ef9c3f2c1",
        file_id: "a8e0e5b5-78c6-4130-a5ce-25feb0e0b4ac",
        content: "An open-source platform.",
        score: 0.92,
        metadata: { source: "guide.txt", file_type: "dify", start_line: null, scores: { remote: 0.92 } },
      },
    ],
  });
  const [received] = remote.server.received;
  expect(received).toMatchObject({ method: "POST", url: "/v1/datasets/d-1/retrieve" });
  expect(received?.headers.authorization).toBe(`Bearer ${KEY}`);
  expect(JSON.parse(received?.body ?? "")).toEqual({
    query: "what is it",
    retrieval_model: {
      search_method: "hybrid_search",
      reranking_enable: false,
      top_k: 3,
      score_threshold_enabled: true,
      score_threshold: 0.4,
    },
  });
  for (const [mode, method] of [
    ["keyword", "full_text_search"],
    ["vector", "semantic_search"],
  ]) {
    expect((await remote.ask({ query: "x", options: { search_mode: mode } })).body.search_mode).toBe(mode);
    expect(remote.server.received.at(-1)?.body).toContain(`"${method}"`);
  }
  const long = await remote.ask({ query: "x".repeat(300), file_name: "other", options: { use_reranker: true } });
  expect(long.body).toMatchObject({ results: [], warnings: ["query_cut", "rerank_failed"] });
});

test("each fault of the other side has a code of its own, and no text of its answer or of the key is passed on", async () => {
  const faults: Readonly<Record<string, [number, string, ((response: ServerResponse) => void) | number]>> = {
    unauthorized: [502, "connector_auth_failed", 401],
    forbidden: [502, "connector_auth_failed", 403],
    missing: [502, "connector_not_found", 404],
    busy: [503, "connector_rate_limited", 429],
    "busy until a date": [
      503,
      "connector_rate_limited",
      (response) =>
        void response
          .writeHead(429, { date: "Wed, 01 Jan 2025 00:00:00 GMT", "retry-after": "Wed, 01 Jan 2025 00:00:07 GMT" })
          .end(),
    ],
    broken: [502, "connector_failed", 500],
    wrong: [502, "connector_failed", 400],
    moved: [502, "connector_failed", 302],
    cut: [502, "connector_failed", (response) => void response.destroy()],
    text: [502, "connector_bad_answer", (response) => void response.end("no JSON")],
    shape: [502, "connector_bad_answer", (response) => json(response, { records: [{ score: 1 }] })],
    huge: [502, "connector_bad_answer", (response) => void response.end(Buffer.alloc(5_000_001, 32))],
  };
  const remote = await openRemote("dify", { dataset_id: "d-1" }, ({ body }, response) => {
    const fault = faults[JSON.parse(body).query]?.[2];
    if (typeof fault === "function") fault(response);
    else
      response
        .writeHead(fault ?? 500, { "retry-after": "7", location: "http://169.254.169.254/" })
        .end(JSON.stringify({ message: `inner words, ${KEY}` }));
  });
  for (const [query, [status, code]] of Object.entries(faults)) {
    const answer = await remote.ask({ query });
    expect(answer, query).toMatchObject({ status, body: { detail: { code } } });
    expect(JSON.stringify(answer.body)).not.toMatch(/inner words|secret-/);
    if (status === 503) expect(answer.headers["retry-after"]).toBe("7");
  }
  expect(remote.server.received).toHaveLength(Object.keys(faults).length);
  expect(remote.lines.join("")).toContain("a connector did not answer");
  expect(remote.lines.join("")).not.toMatch(/inner words|secret-/);
});

test("a connector that does not answer is given up", async () => {
  const remote = await openRemote("dify", { dataset_id: "d-1" }, () => undefined, 500);
  expect(await remote.ask({ query: "x" })).toMatchObject({
    status: 504,
    body: { detail: { code: "connector_timeout" } },
  });
});

test("what has no documents refuses every operation on them, and a place that is not there is refused", async () => {
  const remote = await openRemote("dify", { dataset_id: "d-1" }, (_received, response) => json(response, DIFY_ANSWER));
  const { desk, kbId } = remote;
  const external = `/api/knowledge/databases/external/${kbId}`;
  for (const [method, url, body] of [
    ["GET", `${external}/files`, undefined],
    ["GET", `${external}/files/x/open`, undefined],
    ["POST", `${external}/files/x/find`, { patterns: ["x"] }],
    ["POST", `/api/knowledge/databases/${kbId}/documents/add`, { items: ["x"] }],
    ["POST", "/api/knowledge/files/fetch-url", { kb_id: kbId, url: "http://example.test/" }],
  ] as const)
    expect(await desk.ask(method, url, body), url).toMatchObject({
      status: 400,
      body: { detail: { code: "retrieval_only", kb_type: "dify" } },
    });
  expect((await desk.upload("a.md", "x", { kbId })).body.detail.code).toBe("retrieval_only");
  for (const connector of [
    {},
    { credential: "team" },
    { credential: "other", dataset_id: "d" },
    { credential: "team", dataset_id: "../x" },
    { credential: "team", dataset_id: "d", api_key: "mine" },
  ])
    expect((await remote.make(connector)).body.detail, JSON.stringify(connector)).toMatchObject({
      code: "connector_invalid",
    });
});

// As the workspace's documentation shows pages and blocks: https://developers.notion.com/reference.
const ROOT = "10000000-0000-4000-8000-000000000001";
const page = (id: string, title: string, parent: unknown) => ({
  object: "page",
  id,
  url: `https://www.notion.so/${id}`,
  parent,
  properties: { Name: { id: "title", type: "title", title: [{ type: "text", plain_text: title, href: null }] } },
});
const block = (type: string, text: string, more: Readonly<Record<string, unknown>> = {}) => ({
  object: "block",
  id: crypto.randomUUID(),
  type,
  has_children: false,
  [type]: { rich_text: [{ type: "text", plain_text: text, href: null }], color: "default" },
  ...more,
});
const list = (results: readonly unknown[], nextCursor: string | null = null) => ({
  object: "list",
  results,
  next_cursor: nextCursor,
  has_more: nextCursor !== null,
});

test("notion: pages below the root are read, cut and ranked here", async () => {
  const inside = "10000000-0000-4000-8000-000000000002";
  const outside = "10000000-0000-4000-8000-000000000003";
  const failing = "10000000-0000-4000-8000-000000000004";
  const nested = block("toggle", "More", { has_children: true });
  const answers: Readonly<Record<string, unknown>> = {
    "POST /v1/search": list([
      page(inside, "Wings", { type: "block_id", block_id: "b1" }),
      page(outside, "Elsewhere", { type: "workspace", workspace: true }),
      page(failing, "Broken", { type: "page_id", page_id: ROOT.replaceAll("-", "") }),
      { object: "page", id: "partial" },
    ]),
    "GET /v1/blocks/b1": { object: "block", id: "b1", parent: { type: "page_id", page_id: ROOT } },
    [`GET /v1/blocks/${inside}/children?page_size=100`]: list([block("heading_1", "Flutter"), nested], "c 2"),
    [`GET /v1/blocks/${inside}/children?page_size=100&start_cursor=c%202`]: list([
      block("paragraph", "Panels flutter in fast flow."),
      block("unsupported", "?"),
    ]),
    [`GET /v1/blocks/${nested.id}/children?page_size=100`]: list([block("bulleted_list_item", "an aileron")]),
  };
  const remote = await openRemote("notion", { root_page_ids: [ROOT] }, ({ method, url }, response) => {
    const answer = answers[`${method} ${url}`];
    if (answer === undefined) response.writeHead(500).end();
    else json(response, answer);
  });
  const { body } = await remote.ask({ query: "flutter of panels" });
  expect(body).toMatchObject({
    search_mode: "keyword",
    index: { lexical: "notion+bm25", vector: null },
    warnings: ["partial"],
    results: [
      {
        id: `${inside}#0`,
        file_id: inside,
        metadata: { source: "Wings", source_url: `https://www.notion.so/${inside}` },
      },
    ],
  });
  expect(body.results[0].content).toContain("- an aileron");
  expect(body.results[0].metadata.scores.bm25).toBe(body.results[0].score);
  expect(remote.server.received.every(({ headers }) => headers["notion-version"] === "2022-06-28")).toBe(true);
  expect(remote.server.received.some(({ url }) => url.includes(outside))).toBe(false);
  expect((await remote.ask({ query: "x", options: { search_mode: "vector" } })).body.detail).toMatchObject({
    code: "embedding_not_configured",
  });
});

test("credentials are read from a file that its owner alone may read, and are never quoted", () => {
  const file = join(temporaryDirectory(onTestFinished), "credentials.json");
  const write = (content: unknown): void =>
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content), { mode: 0o600 });
  write({ team: { type: "notion", base_url: "https://api.notion.com", api_key: KEY } });
  expect(readCredentials(file).get("team")).toMatchObject({ type: "notion" });
  chmodSync(file, 0o640);
  expect(() => readCredentials(file)).toThrow("chmod 600");
  chmodSync(file, 0o600);
  for (const wrong of [`{"team": {"api_key": "${KEY}"`, { team: { type: "notion", api_key: `${KEY}\n` } }, [KEY]]) {
    write(wrong);
    expect(() => readCredentials(file)).toThrow(/^(?!.*secret-)/);
  }
});
