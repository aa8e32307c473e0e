/**
 * The guard's part for the CLI's own store, which lies in the session's home, where every tool can write.
 *
 * A later turn may be allowed less than the one whose tool wrote there, and the CLI believes what it finds: `session.permission`
 * comes after all rules of the configuration, `permission` holds what a person once allowed for ever, and an account's address
 * is asked for further configuration, programs of MCP servers included (measured on all three versions). A turn writes none of
 * it but rules that deny, which stay. What could bring the rest back is not accepted: triggers, views, columns that fill
 * themselves, and indexes that may say something else than the table.
 *
 * Where there is no store, 1.3.2 and 1.14.34 make one of the files of `storage`, which is the same by another way.
 */
export const STORE_GUARD = String.raw`
const UNTOLD = ["account", "account_state", "control_account", "credential", "permission", "session_share", "workspace"];
const MADE = /^CREATE (?:TABLE|(?:UNIQUE )?INDEX) [\w"\x60]/;
const keepDenials = (text) => {
  try { return JSON.stringify(JSON.parse(text).filter((rule) => rule.action === "deny")); } catch { return null; }
};
const KEPT = { permission: keepDenials, workspace_id: () => null };
function tidyStore(store) {
  const ask = (query) => store.query(query).all();
  const fold = (name) => String(name).toLowerCase();
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
    if (parts.some((part) => part.cid === -2 || fold(part.name) === "permission")) throw new Error("its index " + name + " is none of the CLI's");
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
    if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() !== true) continue;
    // Bun quotes what stands above the throw, so no word of a database may.
    try { openStore(file); }
    catch (error) { throw new Error("turnd: the store cannot be used as it is: " + error.message); }
  }
}
`;
