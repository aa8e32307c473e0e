import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openSqlite } from "../../src/turnd/daemon/state-index/sqlite.ts";
import { CLIS_A, NEWEST_CLI_A, shareStage, type Stage } from "../harness/real-daemon.ts";
import { giveToUser } from "../harness/temporary.ts";

const PLANTED = "PLANTED-BY-A-TOOL";
const SPOKEN = "My word is quince. @@text:Noted.@@";
const PNG = { type: "file", mime: "image/png", filename: "a.png" };

/** A server that what the CLI reads may name. */
async function listen() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`no TCP address: ${String(address)}`);
  return { url: `http://127.0.0.1:${address.port}`, asked, close: () => server.close() };
}

interface Session {
  readonly session_id: string;
  readonly native: string;
  readonly home: string;
}

async function startSession({ turnd }: Stage): Promise<Session> {
  const { session_id, native_session_id } = await turnd.run({ executor: "cli-a", input: SPOKEN });
  const home = join(turnd.state, "sessions", session_id, "home");
  return { session_id, native: native_session_id ?? "", home };
}

/** What a tool of an earlier turn leaves in the CLI's store. */
function change(home: string, how: (store: DatabaseSync) => void): void {
  const store = openSqlite(join(home, "data/opencode/opencode.db"));
  how(store);
  store.close();
  giveToUser(join(home, "data"));
}

/** A message of a session as the CLI makes one at a time. */
function plant(store: DatabaseSync, session: string, atMs: number, data: object, part: object): void {
  const hex = BigInt.asUintN(48, BigInt(atMs) * 4096n)
    .toString(16)
    .padStart(12, "0");
  const [message, end] = [`msg_${hex}aaaaaaaaaaaaaa`, "aaaaaaaaaaaaaa"];
  store
    .prepare("INSERT INTO message (id,session_id,time_created,time_updated,data) VALUES (?,?,?,?,?)")
    .run(message, session, atMs, atMs, JSON.stringify({ time: { created: atMs }, ...data }));
  store
    .prepare("INSERT INTO part (id,message_id,session_id,time_created,time_updated,data) VALUES (?,?,?,?,?,?)")
    .run(`prt_${hex}${end}`, message, session, atMs, atMs, JSON.stringify(part));
}

const USER = { role: "user", agent: "build", model: { providerID: "scripted", modelID: "scripted" } };
const ASSISTANT = {
  role: "assistant",
  mode: "build",
  agent: "build",
  providerID: "scripted",
  modelID: "scripted",
  path: { cwd: "/", root: "/" },
  cost: 0,
  tokens: { input: 9_000_000, output: 9, reasoning: 0, cache: { read: 0, write: 0 } },
  finish: "tool-calls",
};

function hasTable(store: DatabaseSync, name: string): boolean {
  return store.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(name) !== undefined;
}

describe("what keeps a planted task from being done is turnd's guard:", () => {
  const stage = shareStage(NEWEST_CLI_A, { env: { TURND_ALLOW_WORKSPACE_PLUGINS: "1" } });

  test("without it a subagent does it before the prompt, in a plan too", async () => {
    const { turnd, model } = stage();
    const { session_id, native, home } = await startSession(stage());
    const task = { type: "subtask", prompt: PLANTED, description: "planted", agent: "general" };
    change(home, (store) => plant(store, native, Date.now() - 1, USER, task));
    const before = model.requests.length;
    const input = "Second. @@text:Answered.@@";
    const result = await turnd.run({ session_id, mode: "plan", input, timeout_ms: 120_000 });
    expect(result.status).toBe("completed");
    const [first = "", ...later] = model.requests.slice(before).map(({ body }) => JSON.stringify(body));
    expect(first).toContain(PLANTED);
    expect(first).not.toContain("Second.");
    expect(later.join()).toContain("Second.");
  });
});

describe.each(CLIS_A)("$version", async (cli) => {
  const stage = shareStage(cli);
  const listener = await listen();
  afterAll(() => listener.close());

  /** The next turn, and what was asked of the model in it. */
  async function next(session_id: string, more: Readonly<Record<string, unknown>> = {}) {
    const { turnd, model } = stage();
    const before = model.requests.length;
    const result = await turnd.run({ session_id, input: "Second. @@text:Answered.@@", ...more });
    const sent = model.requests.slice(before).map(({ body }) => JSON.stringify(body));
    return { result, sent };
  }

  test.each<[string, object]>([
    ["an answer", ASSISTANT],
    ["a prompt", { ...USER, system: PLANTED }],
  ])(
    "after %s that is dated ahead the session goes on afresh, with its history, and the store is kept",
    async (_, data) => {
      const { session_id, native, home } = await startSession(stage());
      change(home, (store) => plant(store, native, Date.now() + 3_600_000, data, { type: "text", text: PLANTED }));
      const { result, sent } = await next(session_id);
      expect(result).toMatchObject({ status: "completed", output: "Answered.", resumed: false, degraded: true });
      expect(sent).toHaveLength(1);
      expect(sent[0]).toContain("quince");
      expect(sent[0]).not.toContain(PLANTED);
      expect(readdirSync(join(home, "data/opencode"))).toContain("opencode.db.aside-1");
    },
  );

  test("a clock that was set back by seconds costs no history", async () => {
    const { session_id, native, home } = await startSession(stage());
    change(home, (store) => {
      const atMs = Date.now() + 4_000;
      plant(store, native, atMs, USER, { type: "text", text: "from a moment ahead" });
      plant(
        store,
        native,
        atMs + 1,
        { ...ASSISTANT, tokens: { ...ASSISTANT.tokens, input: 9 }, finish: "stop" },
        {
          type: "text",
          text: "answered ahead",
        },
      );
    });
    const { result, sent } = await next(session_id);
    expect(result).toMatchObject({ status: "completed", output: "Answered.", resumed: true, degraded: false });
    expect(sent.join()).toContain("from a moment ahead");
  });

  test("what only the CLI's API sets in a session counts for no later turn", async () => {
    const { session_id, native, home } = await startSession(stage());
    change(home, (store) => {
      const format = { type: "json_schema", schema: { type: "object", title: PLANTED }, retryCount: 2 };
      const message = { ...USER, system: PLANTED, tools: { read: false }, format };
      plant(store, native, Date.now() - 2, USER, {
        type: "subtask",
        prompt: PLANTED,
        description: "d",
        agent: "build",
      });
      plant(store, native, Date.now() - 1, message, { ...PNG, url: `${listener.url}/image` });
      if (hasTable(store, "session_input")) {
        store
          .prepare(
            "INSERT INTO session_input (id,session_id,prompt,delivery,admitted_seq,time_created) VALUES (?,?,?,?,?,?)",
          )
          .run("msg_218000000000aaaaaaaaaaaaaa", native, JSON.stringify({ text: PLANTED }), "steer", 1, Date.now() - 1);
        store
          .prepare("INSERT INTO session_context_epoch (session_id,baseline,snapshot,baseline_seq) VALUES (?,?,?,?)")
          .run(native, PLANTED, "{}", 0);
      }
      if (hasTable(store, "session_message")) {
        const columns = store.prepare("PRAGMA table_info(session_message)").all();
        const hasSeq = columns.some(({ name }) => name === "seq");
        store.exec(
          `INSERT INTO session_message (id,session_id,type,time_created,time_updated,data${hasSeq ? ",seq" : ""})
           VALUES ('msg_218000000001aaaaaaaaaaaaaa','${native}','user',1,1,'${JSON.stringify({ text: PLANTED })}'${hasSeq ? ",1" : ""})`,
        );
      }
    });
    const { result, sent } = await next(session_id, { mode: "plan" });
    expect(result).toMatchObject({ status: "completed", output: "Answered.", resumed: true, degraded: false });
    expect(sent.join()).not.toContain(PLANTED);
    expect(sent.join()).toContain('"read"');
    expect(listener.asked).toEqual([]);
    const store = openSqlite(join(home, "data/opencode/opencode.db"));
    expect(JSON.stringify(store.prepare("SELECT data FROM message").all())).not.toContain(PLANTED);
    store.close();
  });

  test("a catalogue of providers that a tool left changes neither prices nor limits, nor where a request goes", async () => {
    const { session_id, home } = await startSession(stage());
    const cache = join(home, "cache/opencode");
    mkdirSync(cache, { recursive: true });
    const model = {
      id: "scripted",
      name: "scripted",
      release_date: "2025-01-01",
      attachment: false,
      reasoning: false,
      temperature: true,
      tool_call: true,
      options: {},
      limit: { context: 1_000, output: 100 },
      cost: { input: 1_000_000, output: 1_000_000 },
    };
    const provider = { id: "scripted", name: "scripted", env: [], api: listener.url, npm: "@ai-sdk/openai-compatible" };
    writeFileSync(
      join(cache, "models.json"),
      JSON.stringify({ scripted: { ...provider, models: { scripted: model } } }),
    );
    giveToUser(cache);
    const { result, sent } = await next(session_id);
    expect(result).toMatchObject({ status: "completed", output: "Answered.", resumed: true });
    expect(result.cost_usd).toBeUndefined();
    expect(sent).toHaveLength(1);
    expect(listener.asked).toEqual([]);
  });
});
