import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import { runToken } from "../../../src/service/auth/derive.ts";
import { json } from "../../../src/service/storage/storable.ts";
import { call, testApp } from "../harness/app.ts";
import { KEY_SECRET } from "../harness/auth.ts";
import { makePerson, openDesk } from "../harness/knowledge.ts";
import { outcomeOf, openRunDesk } from "../harness/run-desk.ts";
import { freshStorage } from "../harness/storage.ts";

const SLUG = "cli-b-plan";
const PATH = "/api/agent-tools/mcp";
const TEXT = "# Boats\n\nAn anchor holds a boat.\n\nA sail moves it.\n";

/** An agent with a knowledge base, and a run of a user who may read it. */
async function openRun() {
  const storage = await freshStorage("postgres");
  const desk = await openDesk(storage);
  const [fileId = ""] = await desk.ingest({ "boats.md": TEXT });
  await putAgents(storage, await readAgentsFile(undefined));
  await storage.db
    .updateTable("agent")
    .set({ knowledge_bases: [desk.kbId] })
    .where("slug", "=", SLUG)
    .execute();
  const person = await makePerson(storage, "user");
  const runs = await openRunDesk(storage, { actor: { caller: person.caller, ip: "127.0.0.1" } });
  const submit = async (): Promise<string> => (await runs.submit(randomUUID(), "enqueue")).request.planned_run_id;
  const start = async () => {
    const runId = await submit();
    const owner = await runs.claim(runId);
    if (owner === undefined) throw new Error("the run was not claimed");
    return { runId, owner };
  };
  const ask = async (token: string, method: string, params: object = {}) => {
    const answer = await desk.app.inject({
      method: "POST",
      url: PATH,
      headers: { authorization: `Bearer ${token}`, accept: "application/json, text/event-stream" },
      payload: { jsonrpc: "2.0", id: 1, method, params },
    });
    // The protocol lets a server answer a call with a stream of one event.
    const text = /^data: (.*)$/m.exec(answer.body)?.[1] ?? answer.body;
    return { status: answer.statusCode, body: JSON.parse(text) };
  };
  const use = async (runId: string, name: string, input: object) => {
    const { status, body } = await ask(runToken(KEY_SECRET, runId), "tools/call", { name, arguments: input });
    expect(status).toBe(200);
    const { content, isError = false } = body.result;
    return { text: String(content[0].text), isError };
  };
  return { storage, desk, fileId, person, runs, submit, start, ask, use };
}

test("a run's turn lists, searches, opens and finds in the knowledge bases of its agent", async () => {
  const { desk, fileId, start, ask, use } = await openRun();
  const { runId } = await start();
  const token = runToken(KEY_SECRET, runId);
  const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  expect((await ask(token, "initialize", hello)).body.result.serverInfo.name).toBe("svc-knowledge");
  const { body } = await ask(token, "tools/list");
  const tools: { name: string; annotations: object }[] = body.result.tools;
  expect(tools.map(({ name }) => name)).toEqual(["list", "search", "open", "find"]);
  for (const { annotations } of tools) expect(annotations).toMatchObject({ readOnlyHint: true });

  expect((await use(runId, "list", {})).text).toContain(desk.kbId);
  expect((await use(runId, "list", { kb_id: desk.kbId })).text).toBe(`${fileId}  boats.md  indexed`);
  const { text: hit } = await use(runId, "search", { query: "what holds a boat" });
  expect(hit).toContain("An anchor holds a boat.");
  expect(hit).toMatch(new RegExp(`boats.md lines \\d+-\\d+, Boats \\(file_id ${fileId}, kb_id ${desk.kbId}\\)`));
  expect((await use(runId, "open", { file_id: fileId, start_line: 3, lines: 1 })).text).toBe(
    "boats.md, lines 3-3 of 5\n3\tAn anchor holds a boat.\n… go on with start_line 4",
  );
  expect((await use(runId, "find", { file_id: fileId, patterns: ["SAIL"] })).text).toContain("matched 5");
  // What is wrong with a call is the model's to read.
  expect(await use(runId, "find", { file_id: fileId, patterns: ["("], use_regex: true })).toMatchObject({
    isError: true,
    text: expect.stringContaining("pattern_invalid"),
  });
  expect(await use(runId, "open", { file_id: "file_none" })).toMatchObject({ isError: true });
  expect((await use(runId, "search", { query: " " })).isError).toBe(true);
  for (const method of ["GET", "DELETE"] as const) {
    const answer = await desk.app.inject({ method, url: PATH, headers: { authorization: `Bearer ${token}` } });
    expect(answer.statusCode).toBe(405);
  }
});

test("what its user may no longer read is gone at the next call; so are a deleted knowledge base and one of no agent", async () => {
  const { storage, desk, fileId, start, use } = await openRun();
  const { runId } = await start();
  const other = await desk.ask("POST", "/api/knowledge/databases", { name: "other" });
  const foreign: string = other.body.database.kb_id;
  const refused = async (kbId: string) => {
    const calls = [
      use(runId, "list", { kb_id: kbId }),
      use(runId, "search", { query: "anchor", kb_id: kbId }),
      use(runId, "open", { file_id: fileId, kb_id: kbId }),
      use(runId, "find", { file_id: fileId, kb_id: kbId, patterns: ["anchor"] }),
    ];
    for (const answer of await Promise.all(calls)) {
      expect(answer).toEqual({ isError: true, text: expect.stringContaining("kb_not_found") });
    }
  };
  // The user may read it; the agent does not name it.
  await refused(foreign);
  expect((await use(runId, "search", { query: "anchor" })).text).toContain("An anchor holds a boat.");

  const admin = { access_level: "user", department_ids: [], user_uids: [desk.admin.caller.userId] };
  const share = { version: 2, read_scope: admin, manage_scope: null };
  const setShare = (config: Record<string, unknown>) =>
    storage.db
      .updateTable("knowledge_base")
      .set({ share_config: json(config) })
      .where("id", "=", desk.kbId)
      .execute();
  await setShare(share);
  await refused(desk.kbId);
  expect((await use(runId, "search", { query: "anchor" })).text).toBe("There is no knowledge base you may read.");
  expect((await use(runId, "open", { file_id: fileId })).isError).toBe(true);
  const allUsers = { access_level: "global", department_ids: [], user_uids: [] };
  await setShare({ ...share, read_scope: allUsers });
  expect((await use(runId, "open", { file_id: fileId })).text).toContain("boats.md");

  const { body } = await desk.ask("DELETE", desk.path);
  await refused(desk.kbId);
  await desk.ended(body.task_id);
  await refused(desk.kbId);
});

test("a token is good for its own run, while that is running and its user is there", async () => {
  const { storage, desk, person, runs, submit, start, ask } = await openRun();
  const { runId, owner } = await start();
  const list = (token: string) => ask(token, "tools/list").then(({ status }) => status);
  const token = runToken(KEY_SECRET, runId);
  expect(await list(token)).toBe(200);

  const otherId = randomUUID();
  const forged = [
    `svrun_${otherId}.${token.split(".")[1]}`,
    runToken("another-key-secret-0123456789abcdef", runId),
    token.slice(0, -1),
    `${token}x`,
    runId,
    person.token,
    desk.admin.token,
  ];
  for (const wrong of forged) expect(await list(wrong), wrong).toBe(401);
  const without = await desk.app.inject({ method: "POST", url: PATH, payload: {} });
  expect(without.statusCode).toBe(401);
  // It opens nothing else.
  expect((await call(desk.app, "GET", "/api/knowledge/databases/external", undefined, { token })).status).toBe(401);

  const enable = (isEnabled: boolean) =>
    storage.db.updateTable("account").set({ is_enabled: isEnabled }).where("id", "=", person.caller.userId).execute();
  await enable(false);
  expect(await list(token)).toBe(401);
  await enable(true);
  expect(await list(token)).toBe(200);
  await storage.db.updateTable("run").set({ status: "cancel_requested" }).where("id", "=", runId).execute();
  expect(await list(token)).toBe(401);
  await runs.finish(owner, outcomeOf("cancelled"));
  expect(await list(token)).toBe(401);

  // A steered turn asks a moment before its run has begun.
  const next = await submit();
  const early = list(runToken(KEY_SECRET, next));
  await runs.claim(next);
  expect(await early).toBe(200);
});

test("an agent names knowledge bases that its maker may read, each once", async () => {
  const { desk } = await openRun();
  const agent = { slug: "knows", name: "Knows", executor: "cli-b" };
  const make = (more: object) => desk.ask("POST", "/api/agents", { ...agent, ...more });
  expect((await make({ knowledge_bases: ["kb_x"] })).status).toBe(422);
  expect((await make({ knowledge_bases: [desk.kbId, desk.kbId] })).status).toBe(422);
  const unknown = await make({ knowledge_bases: [`kb_${"0".repeat(32)}`] });
  expect(unknown).toMatchObject({ status: 404, body: { detail: { code: "kb_not_found" } } });
  const made = await make({ knowledge_bases: [desk.kbId] });
  expect(made.body.agent.knowledge_bases).toEqual([desk.kbId]);
  const { body } = await desk.ask("DELETE", desk.path);
  await desk.ended(body.task_id);
  const renamed = { name: "Knew", revision: 1, knowledge_bases: [desk.kbId] };
  expect((await desk.ask("PUT", "/api/agents/knows", renamed)).status).toBe(200);
  const emptied = await desk.ask("PUT", "/api/agents/knows", { revision: 2, knowledge_bases: [] });
  expect(emptied.body.agent.knowledge_bases).toEqual([]);
});

test("each call of a batch counts as one", async () => {
  const { storage, desk, start } = await openRun();
  const app = await testApp(storage, { knowledge: desk.knowledge, ratePerCredential: 3 });
  onTestFinished(() => app.close());
  const { runId } = await start();
  const post = async (calls: number) => {
    const batch = Array.from({ length: calls }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }));
    const answer = await app.inject({
      method: "POST",
      url: PATH,
      headers: {
        authorization: `Bearer ${runToken(KEY_SECRET, runId)}`,
        accept: "application/json, text/event-stream",
      },
      payload: batch,
    });
    return answer.statusCode;
  };
  expect(await post(3)).not.toBe(429);
  expect(await post(1)).toBe(429);
});
