import type * as sqlite from "node:sqlite";
import type { DatabaseSync } from "node:sqlite";

/** The part of Node's SQLite that is used. */
export type Sqlite = typeof sqlite;

let loaded: Sqlite | undefined;

/**
 * Loads Node's own SQLite, without the warning that its interface may change: the version of Node is pinned.
 *
 * @throws {Error} where this Node was built without it
 */
export function loadSqlite(): Sqlite {
  if (loaded !== undefined) return loaded;
  const { emitWarning } = process;
  try {
    process.emitWarning = () => {};
    loaded = process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
  if (loaded === undefined) throw new Error("this Node has no node:sqlite");
  return loaded;
}

/** Opens a database; `:memory:` is one that is kept nowhere. */
export function openSqlite(path: string): DatabaseSync {
  const { DatabaseSync: Database } = loadSqlite();
  return new Database(path);
}
