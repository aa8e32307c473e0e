import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { SCHEMA, TABLES } from "./schema.ts";
import { openSqlite } from "./sqlite.ts";

export type Row = Record<string, SQLOutputValue>;

/** The index cannot be read: what is asked of it is not known until turnd's next start makes it again. */
export class IndexError extends Error {
  /** As of a damaged file system: whoever asks answers so. */
  readonly code = "EUCLEAN";
  constructor(cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`the index of sessions and turns cannot be read (${why}); turnd makes it again when it is started`, {
      cause,
    });
    this.name = "IndexError";
  }
}

/** Statements by their text, on a file, or in memory where the file takes no more. */
export interface Database {
  run(sql: string, ...values: SQLInputValue[]): void;
  get(sql: string, ...values: SQLInputValue[]): Row | undefined;
  all(sql: string, ...values: SQLInputValue[]): Row[];
  /** All of it or nothing. */
  atOnce(work: () => void): void;
  isOnDisk(): boolean;
  /** @param last - done before it is closed, where it is on the disk */
  close(last: () => void): void;
}

export interface DatabaseOptions {
  /** Called once, when the file cannot be written or read any more, and is closed. */
  readonly onFault: (error: unknown) => void;
  /** Called when it has been closed, and all of it is in its file. */
  readonly onClosed?: () => void;
}

/**
 * Wraps an open database.
 *
 * Where the file fails, such as on a full disk, everything is copied into memory and goes on there: what is in the
 * directories must stay in accord with what is served.
 * @throws {IndexError} from every call, where not even that was possible
 */
export function wrapDatabase(opened: DatabaseSync, { onFault, onClosed }: DatabaseOptions, isFile: boolean): Database {
  let connection = opened;
  let isOnDisk = isFile;
  let fault: IndexError | undefined;
  let depth = 0;
  const statements = new Map<string, StatementSync>();

  function statement(sql: string): StatementSync {
    const known = statements.get(sql) ?? connection.prepare(sql);
    statements.set(sql, known);
    return known;
  }

  function attempt<T>(work: () => T): T {
    if (fault !== undefined) throw fault;
    try {
      return work();
    } catch (error) {
      if (!isSqliteError(error)) throw error;
      // What was begun is taken back as a whole, and done again by whoever began it.
      if (depth > 0) throw error;
      if (!isOnDisk) throw (fault = new IndexError(error));
      moveToMemory(error);
      return work();
    }
  }

  function moveToMemory(cause: unknown): void {
    isOnDisk = false;
    const file = connection;
    try {
      connection = openMemory();
      for (const table of TABLES) copyTable(file, connection, table);
    } catch (error) {
      throw (fault = new IndexError(error));
    } finally {
      statements.clear();
      file.close();
      onFault(cause);
    }
  }

  return {
    run: (sql, ...values) => attempt(() => void statement(sql).run(...values)),
    get: (sql, ...values) => attempt(() => statement(sql).get(...values)),
    all: (sql, ...values) => attempt(() => statement(sql).all(...values)),
    atOnce(work) {
      if (depth > 0) return work();
      attempt(() => {
        connection.exec("BEGIN");
        depth += 1;
        try {
          work();
          connection.exec("COMMIT");
        } catch (error) {
          // A full disk may have ended it already.
          if (connection.isTransaction) connection.exec("ROLLBACK");
          throw error;
        } finally {
          depth -= 1;
        }
      });
    },
    isOnDisk: () => isOnDisk,
    close(last) {
      const isWhole = isOnDisk && fault === undefined;
      if (isWhole) last();
      statements.clear();
      if (connection.isOpen) connection.close();
      if (isWhole && isOnDisk) onClosed?.();
    },
  };
}

/** Makes an empty database in memory. */
export function openMemory(): DatabaseSync {
  const memory = openSqlite(":memory:");
  memory.exec(SCHEMA);
  return memory;
}

function copyTable(from: DatabaseSync, to: DatabaseSync, table: string): void {
  let insert: StatementSync | undefined;
  to.exec("BEGIN");
  for (const row of from.prepare(`SELECT * FROM ${table}`).iterate()) {
    const values = Object.values(row);
    insert ??= to.prepare(`INSERT INTO ${table} VALUES (${values.map(() => "?").join(",")})`);
    insert.run(...values);
  }
  to.exec("COMMIT");
}

function isSqliteError(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";
}
