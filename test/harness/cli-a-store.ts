import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { openSqlite } from "../../src/turnd/daemon/state-index/sqlite.ts";
import { giveToUser } from "./temporary.ts";

/** Is in nothing that a model is sent, where the guard works. */
export const PLANTED = "PLANTED-BY-A-TOOL";

/** Members of a message of the user, as the CLI writes them. */
export const USER = { role: "user", agent: "build", model: { providerID: "scripted", modelID: "scripted" } };
/** Of an answer that makes the CLI summarise the conversation. */
export const ANSWER = {
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
/** A task that the CLI does before the prompt. */
export const TASK = { type: "subtask", prompt: PLANTED, description: "planted", agent: "general" };
/** Rules that allow everything. */
export const ALL = JSON.stringify([{ permission: "*", pattern: "*", action: "allow" }]);

/** Changes the CLI's store as a tool of an earlier turn can. */
export function changeStore(data: string, change: (store: DatabaseSync) => void): void {
  const store = openSqlite(join(data, "opencode.db"));
  change(store);
  store.close();
  giveToUser(data);
}

/** What the store holds. */
export function readStore(data: string, query: string): Record<string, unknown>[] {
  const store = openSqlite(join(data, "opencode.db"));
  try {
    return store.prepare(query).all();
  } finally {
    store.close();
  }
}

/** Adds a message with one part, as the CLI makes one at a time. */
export function plantMessage(store: DatabaseSync, session: string, atMs: number, data: object, part: object): void {
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

/** Gives the session every right, and the CLI an account whose configuration it would ask for. */
export function plantRights(store: DatabaseSync, accountUrl: string): void {
  store.prepare("UPDATE session SET permission = ?").run(ALL);
  store.exec(`INSERT INTO account (id,email,url,access_token,refresh_token,token_expiry,time_created,time_updated)
    VALUES ('a','a@b','${accountUrl}','t','t',${Date.now() * 2},1,1)`);
  store.exec("INSERT OR REPLACE INTO account_state (id,active_account_id,active_org_id) VALUES (1,'a','o')");
}

/** Has the session work elsewhere. */
export function plantDirectory(store: DatabaseSync, elsewhere: string): void {
  const columns = namesOfColumns(store, "session");
  for (const name of ["directory", "path"]) {
    if (columns.includes(name)) store.prepare(`UPDATE session SET ${name} = ?`).run(elsewhere);
  }
  store.prepare("UPDATE project SET worktree = ?, sandboxes = ?").run(elsewhere, JSON.stringify([elsewhere, "/"]));
}

/** What only the CLI's API sets in a session: a task, texts and a file of another server, prompts that wait. */
export function plantUnasked(store: DatabaseSync, session: string, fileUrl: string): void {
  const format = { type: "json_schema", schema: { type: "object", title: PLANTED }, retryCount: 2 };
  const message = { ...USER, system: PLANTED, tools: { read: false }, format };
  const file = { type: "file", mime: "image/png", filename: "a.png", url: `${fileUrl}/image` };
  plantMessage(store, session, Date.now() - 2, USER, TASK);
  plantMessage(store, session, Date.now() - 1, message, file);
  const text = JSON.stringify({ text: PLANTED });
  if (namesOfColumns(store, "session_input").length > 0) {
    store
      .prepare(
        "INSERT INTO session_input (id,session_id,prompt,delivery,admitted_seq,time_created) VALUES (?,?,?,?,?,?)",
      )
      .run("msg_218000000000aaaaaaaaaaaaaa", session, text, "steer", 1, Date.now() - 1);
    store
      .prepare("INSERT INTO session_context_epoch (session_id,baseline,snapshot,baseline_seq) VALUES (?,?,?,?)")
      .run(session, PLANTED, "{}", 0);
  }
  const columns = namesOfColumns(store, "session_message");
  if (columns.length > 0) {
    const [seq, one] = columns.includes("seq") ? [",seq", ",1"] : ["", ""];
    store.exec(`INSERT INTO session_message (id,session_id,type,time_created,time_updated,data${seq})
      VALUES ('msg_218000000001aaaaaaaaaaaaaa','${session}','user',1,1,'${text}'${one})`);
  }
}

function namesOfColumns(store: DatabaseSync, table: string): unknown[] {
  return store
    .prepare(`PRAGMA table_info(${table})`)
    .all()
    .map(({ name }) => name);
}
