/**
 * The guard's part for the CLI's own store, which lies in the session's home, where every tool can write.
 *
 * A later turn may be allowed less than the one whose tool wrote there, and the CLI believes what it finds: `session.permission`
 * comes after all rules of the configuration, `permission` holds what a person once allowed for ever, and an account's address
 * is asked for further configuration, programs of MCP servers included (measured on all three versions). A turn writes none of
 * it but rules that deny, which stay. What could bring the rest back is not accepted: triggers, views, columns that fill
 * themselves, and indexes that may say something else than the table. Measured besides:
 *
 * - 1.18.33 works in `session.directory` whatever its working directory is, and never ends where both differ: it is the turn's;
 * - `system`, `tools` and `format` of a message, which only the CLI's API sets, count for its answer;
 * - a `subtask` is done before the prompt, and the address of a file is asked for, in a plan too.
 *
 * The CLI takes what sorts last for what came last. After a message of the future it answers that one in place of the prompt,
 * or summarises the conversation without end. Nothing is deleted for it: the same comes of a clock that was set back, and the
 * store is then as a damaged one, which is kept aside while the session goes on with its history. A few seconds are waited for.
 *
 * Where there is no store, 1.3.2 and 1.14.34 make one of the files of `storage`, which is the same by another way.
 */
export const STORE_GUARD = String.raw`
const UNTOLD = ["account", "account_state", "control_account", "credential", "permission", "session_share", "workspace"];
const MADE = /^CREATE (?:TABLE|(?:UNIQUE )?INDEX) [\w"\x60]/;
const keepDenials = (text) => {
  try { return JSON.stringify(JSON.parse(text).filter((rule) => rule.action === "deny")); } catch { return null; }
};
const KEPT = { permission: keepDenials, workspace_id: () => null, directory: () => directory, path: () => null };
const INDEXED = ["workspace_id"];
const MAX_AHEAD_MS = 5_000;
const fold = (name) => String(name).toLowerCase();
function tidyStore(store) {
  const ask = (query) => store.query(query).all();
  const entries = ask("SELECT type, name, tbl_name AS owner, sql FROM sqlite_master");
  const strange = entries.find(({ sql }) => sql !== null && !MADE.test(sql));
  if (strange !== undefined) throw new Error("it has a " + strange.type + " that no CLI makes, " + strange.name);
  const tables = new Set(entries.filter(({ type }) => type === "table").map(({ name }) => fold(name)));
  const indexed = new Set(entries.filter(({ type, sql }) => type === "index" && sql !== null).map(({ owner }) => fold(owner)));
  for (const table of UNTOLD.filter((name) => tables.has(name))) {
    const isEmpty = ask("SELECT 1 FROM " + table + " NOT INDEXED LIMIT 1").length === 0;
    if (!isEmpty || indexed.has(table)) store.run("DELETE FROM " + table);
  }
  const columns = tables.has("session") ? ask("PRAGMA table_xinfo(session)") : [];
  for (const { name, hidden, dflt_value } of columns) {
    const keep = KEPT[fold(name)];
    if (keep === undefined) continue;
    if (hidden !== 0 || dflt_value !== null) throw new Error("its column " + name + " fills itself");
    const readRules = () => ask("SELECT DISTINCT " + name + " AS given FROM session NOT INDEXED").filter(({ given }) => given !== null);
    for (const { given } of readRules()) {
      const kept = keep(given);
      if (kept !== given) store.query("UPDATE session SET " + name + " = ? WHERE " + name + " = ?").run(kept, given);
    }
    if (readRules().some(({ given }) => keep(given) !== given)) throw new Error("its column " + name + " stays as it is");
  }
  for (const { name } of columns.length === 0 ? [] : ask("PRAGMA index_list(session)")) {
    const parts = store.query("SELECT cid, name FROM pragma_index_info(?)").all(name);
    if (parts.some((part) => part.cid === -2 || isKept(part.name))) throw new Error("its index " + name + " is none of the CLI's");
  }
  for (const [table, tidy] of Object.entries(TIDIED)) {
    if (!tables.has(table)) continue;
    tidyRows(store, table, tidy);
    awaitNewest(store, table);
  }
  // Their order is read from there.
  if (tables.has("message")) store.run("REINDEX message");
}
const isKept = (name) => KEPT[fold(name)] !== undefined && !INDEXED.includes(fold(name));
const UNASKED = ["system", "tools", "format"];
function tidyMessage(message) {
  if (!UNASKED.some((key) => key in message)) return message;
  return Object.fromEntries(Object.entries(message).filter(([key]) => !UNASKED.includes(key)));
}
// A text's content is another part; the address of its file is not sent.
const UNSENT = ["text/plain", "application/x-directory"];
const isFetched = ({ mime, url }) => !UNSENT.includes(mime) && !/^data:/i.test(String(url));
function tidyPart(part) {
  if (part.type === "subtask" || (part.type === "file" && isFetched(part))) return undefined;
  const attachments = part.state?.attachments;
  if (attachments === undefined || (Array.isArray(attachments) && !attachments.some(isFetched))) return part;
  return { ...part, state: { ...part.state, attachments: [] } };
}
const TIDIED = { message: tidyMessage, part: tidyPart };
function tidyRows(store, table, tidy) {
  requirePlain(store, table);
  const changes = [];
  for (const { place, data } of store.query("SELECT rowid AS place, data FROM " + table + " NOT INDEXED").iterate()) {
    let row;
    try { row = JSON.parse(data); } catch { throw new Error("its " + table + " holds what is no JSON"); }
    if (row === null || typeof row !== "object") throw new Error("its " + table + " holds what is no object");
    const tidied = tidy(row);
    if (tidied !== row) changes.push([tidied === undefined ? null : JSON.stringify(tidied), place]);
  }
  for (const [data, place] of changes) {
    if (data === null) store.query("DELETE FROM " + table + " WHERE rowid = ?").run(place);
    else store.query("UPDATE " + table + " SET data = ? WHERE rowid = ?").run(data, place);
  }
}
// An id begins with the time of its making: 48 bits of milliseconds times 4096.
function awaitNewest(store, table) {
  const prefix = { message: "msg_", part: "prt_" }[table];
  const idAt = (ms) => prefix + (BigInt.asUintN(48, BigInt(ms) * 4096n)).toString(16).padStart(12, "0");
  const later = "SELECT count(*) AS count FROM " + table + " NOT INDEXED WHERE time_created > ?1 OR id >= ?2";
  const countAfter = (ms) => store.query(later).get(ms, idAt(ms + 1)).count;
  const readClock = () => store.query("SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS ms").get().ms;
  const start = readClock();
  const count = countAfter(start + MAX_AHEAD_MS);
  if (count > 0) throw new Error("it has " + count + " of " + table + " later than now, " + new Date(start).toISOString());
  for (let now = start; countAfter(now) > 0; now = readClock()) {
    if (now > start + 2 * MAX_AHEAD_MS || now < start) throw new Error("the clock moves");
    Bun.sleepSync(100);
  }
}
function requirePlain(store, table) {
  const columns = store.query("PRAGMA table_xinfo(" + table + ")").all();
  const strange = columns.find(({ name, hidden, dflt_value }) => hidden !== 0 || dflt_value !== null || fold(name) === "rowid");
  if (strange !== undefined) throw new Error("its column " + strange.name + " fills itself");
  for (const { name } of store.query("PRAGMA index_list(" + table + ")").all()) {
    const parts = store.query("SELECT cid, name FROM pragma_index_info(?)").all(name);
    if (parts.some((part) => part.cid === -2 || fold(part.name) === "data")) throw new Error("its index " + name + " is none of the CLI's");
  }
}
function openStore(file) {
  const { Database } = require("bun:sqlite");
  const store = new Database(file, { readwrite: true, create: false });
  try {
    store.run("PRAGMA busy_timeout = 5000");
    tidyStore(store);
  } finally {
    store.close();
  }
}
for (const { data, name } of stores) {
  if (!fs.existsSync(data + "/" + name + ".db")) fs.rmSync(data + "/storage", { recursive: true, force: true });
  const names = fs.existsSync(data) ? fs.readdirSync(data) : [];
  const files = names.filter((one) => one.startsWith(name) && one.endsWith(".db")).map((one) => data + "/" + one);
  for (const file of files) {
    // Bun quotes what stands above the throw, so no word of a database may.
    try {
      for (const one of ["", "-wal", "-shm", "-journal"].map((end) => file + end)) {
        if (fs.statSync(one, { throwIfNoEntry: false })?.isFile() === false) throw new Error(one + " is no file");
      }
      openStore(file);
    }
    catch (error) { throw new Error("turnd: the store cannot be used as it is: " + error.message); }
  }
}
`;
