import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { freshStorage } from "../harness/storage.ts";
import { openDesk } from "../harness/knowledge.ts";

const TEXT =
  "# Wings\n\nThe boundary layer of a slender wing separates early.\n\n## Flutter\n\nPanels flutter in fast flow.\n";

test("the embedded engine reports when it nears its supported size", async () => {
  const desk = await openDesk(await freshStorage("pglite"));
  await desk.ingest({ "a.md": TEXT });
  expect(await desk.knowledge.warnOfScale()).toBeUndefined();
  await desk.storage.db.updateTable("knowledge_file").set({ chunk_count: 80_000 }).execute();
  expect(await desk.knowledge.warnOfScale()).toBe(
    "the embedded database has 80000 of 100000 chunks that it supports: beyond, set DATABASE_URL",
  );
});

test("a document goes from upload to an answer that opens at its lines", async () => {
  const desk = await openDesk(await freshStorage("postgres"));
  const { ask, path, kbId } = desk;
  const uploaded = await desk.upload("wings.md", TEXT);
  expect(uploaded).toMatchObject({
    status: 200,
    body: {
      size: Buffer.byteLength(TEXT),
      content_hash: createHash("sha256").update(TEXT).digest("hex"),
      filename: "wings.md",
      file_type: "md",
      has_same_name: false,
    },
  });
  const added = await ask("POST", `${path}/documents/add`, { items: [uploaded.body.file_path] });
  expect(added.body).toMatchObject({ status: "success", added: 1, failed: 0, items: [{ status: "uploaded" }] });
  const id = added.body.items[0].file_id;
  const early = await ask("GET", `/api/knowledge/databases/external/${kbId}/files/${id}/open`);
  expect(early).toMatchObject({ status: 409, body: { detail: { code: "file_not_parsed", status: "uploaded" } } });

  const parsing = await ask("POST", `${path}/documents/parse`, [id]);
  expect(parsing.body).toMatchObject({ status: "queued" });
  expect(await desk.ended(parsing.body.task_id)).toMatchObject({
    status: "success",
    progress: 100,
    result: { total: 1, parsed: 1, failed: 0, skipped: 0 },
  });
  expect(await desk.file(id)).toMatchObject({ status: "parsed", lines: 7, parser: "text", chunk_count: 0 });
  expect((await ask("GET", `${path}/documents/${id}/content`)).body).toBe(TEXT);

  const empty = await ask("POST", `/api/knowledge/databases/external/${kbId}/retrieve`, { query: "flutter" });
  expect(empty.body).toMatchObject({ results: [], warnings: ["nothing_indexed"] });

  const indexing = await ask("POST", `${path}/documents/index`, { file_ids: [id] });
  expect(await desk.ended(indexing.body.task_id)).toMatchObject({ status: "success", result: { indexed: 1 } });
  const file = await desk.file(id);
  expect(file).toMatchObject({ status: "indexed", generation: 1, error: null });
  expect(file.chunk_count).toBeGreaterThan(0);

  const { body: found } = await ask("POST", `/api/knowledge/databases/external/${kbId}/retrieve`, {
    query: "panel flutter",
  });
  expect(found).toMatchObject({
    search_mode: "keyword",
    index: {
      lexical: "bm25-gin",
      vector: null,
      embedding_model: null,
      reranker: null,
    },
    warnings: [],
  });
  const [hit] = found.results;
  expect(hit).toMatchObject({ file_id: id, metadata: { source: "wings.md", scores: { bm25: hit.score } } });
  const { start_line: start, end_line: end } = hit.metadata;
  const opened = await ask(
    "GET",
    `/api/knowledge/databases/external/${kbId}/files/${id}/open?offset=${start - 1}&limit=${end - start + 1}`,
  );
  expect(opened.body).toMatchObject({ start_line: start, end_line: end, total_lines: 7 });
  expect(opened.body.content).toContain("Panels flutter");
  const { body: listed } = await ask("GET", path);
  expect(listed.database.counts).toMatchObject({ indexed: 1, total: 1, chunks: file.chunk_count });

  const gone = await ask("DELETE", `${path}/documents/${id}`);
  expect(gone.body).toEqual({ success: true });
  const keys = [];
  for await (const { key } of desk.objects.list()) keys.push(key);
  expect(keys).toEqual([]);
  const after = await ask("POST", `/api/knowledge/databases/external/${kbId}/retrieve`, { query: "flutter" });
  expect(after.body.results).toEqual([]);
});
