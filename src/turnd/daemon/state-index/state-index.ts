import { chmodSync, mkdirSync } from "node:fs";
import type { Database } from "./database.ts";
import { bootOf, openDatabase, type OpenOptions } from "./open-database.ts";
import { openMemory, wrapDatabase } from "./database.ts";
import { idOf, numberOf, toSession, toTurn } from "./rows.ts";
import type { CountedSession, IdleSession, SessionRow, StoneRow, TurnRow } from "./rows.ts";

/** Where a page of turns goes on: behind this one. */
export interface TurnPlace {
  readonly place: number;
  readonly turnId: string;
}

/** Where a page of sessions goes on. */
export interface SessionPlace {
  readonly createdAt: string;
  readonly sessionId: string;
}

export interface TurnPage {
  readonly before?: TurnPlace | undefined;
  readonly sessionId?: string | undefined;
  readonly status?: string | undefined;
  readonly limit: number;
}

/**
 * What the directories of sessions and turns hold, by every key that is asked for.
 *
 * It is derived: the directories are the truth, and it is made again from them where it is not in accord with them.
 * @throws {IndexError} from any call, where it can neither be read nor made in memory
 */
export interface StateIndex {
  /** Why it holds nothing yet and is to be filled; undefined where it holds what an earlier turnd knew. */
  readonly outdated: string | undefined;
  /** It has been filled: the next start relies on it. */
  complete(): void;
  count(): { readonly sessions: number; readonly turns: number };

  session(id: string): SessionRow | undefined;
  putSession(row: SessionRow): void;
  /** Something happened in a session. */
  touchSession(id: string, activity: { readonly at: string; readonly key: string }): void;
  /** With its turns. */
  forgetSession(id: string): void;
  pageSessions(page: { readonly before?: SessionPlace | undefined; readonly limit: number }): SessionRow[];
  /** Those behind one, in the order of their ids: for whoever goes through all. */
  countedSessions(after: string, limit: number): CountedSession[];
  /** Sessions in which nothing happened since, the one longest left alone first. */
  idleSessions(page: { readonly before: string; readonly limit: number }): IdleSession[];
  setSessionBytes(id: string, bytes: number): void;
  totalBytes(): { readonly bytes: number; readonly unmeasured: readonly string[] };
  /** When something last happened in any session; undefined where there is none. */
  newestActivity(): string | undefined;
  /** A text that is kept by a name for as long as the index is. */
  note(name: string): string | undefined;
  putNote(name: string, text: string): void;

  turn(id: string): TurnRow | undefined;
  turnOfRequest(requestId: string): TurnRow | undefined;
  putTurn(row: TurnRow): void;
  forgetTurn(id: string): void;
  /** Newest first. */
  pageTurns(page: TurnPage): TurnRow[];
  /** Oldest first. @param after - only those behind this place */
  turnsOfSession(sessionId: string, options?: { readonly after?: number; readonly limit?: number }): TurnRow[];
  /** What recognises the directories of some of its turns, in order. @param after - the last one of those before */
  keysOfTurns(sessionId: string, after: TurnPlace, limit: number): (TurnPlace & Pick<TurnRow, "status" | "key">)[];
  /** The same of all, by their ids. */
  turnKeys(sessionId: string): Map<string, Pick<TurnRow, "status" | "key">>;
  /** Of the newest ones, oldest first. */
  turnIds(sessionId: string, newest: number): string[];
  countTurns(sessionId: string): number;
  openTurns(): TurnRow[];
  turnsWithSecrets(sessionId: string): string[];
  lastPlace(): number;

  stone(requestId: string): StoneRow | undefined;
  /** All of them at once: `key` recognises the file that they are from. */
  putStones(stones: readonly StoneRow[], key: string): void;
  replaceStones(stones: readonly StoneRow[], key: string): void;
  stonesKey(): string | undefined;

  /** Does some work as one change. */
  atOnce(work: () => void): void;
  isOnDisk(): boolean;
  close(): void;
}

/** Opens the index of a state directory. Never throws. */
export function openStateIndex(options: OpenOptions): StateIndex {
  try {
    mkdirSync(options.sessionsDirectory, { mode: 0o711 });
    chmodSync(options.sessionsDirectory, 0o711);
  } catch {
    // It is there, or whoever lists the sessions reports why it cannot be.
  }
  const { database, outdated } = openDatabase(options);
  return createStateIndex(database, { outdated, boot: bootOf(options) });
}

/** Makes an empty index that is kept nowhere. */
export function createMemoryIndex(): StateIndex {
  const database = wrapDatabase(openMemory(), { onFault: () => {} }, false);
  return createStateIndex(database, { outdated: "there is none", boot: "" });
}

function createStateIndex(
  database: Database,
  { outdated, boot }: { readonly outdated: string | undefined; readonly boot: string },
): StateIndex {
  const { get, all } = database;
  // A new one has never been closed.
  let isMarked = outdated !== undefined;
  /** Before anything is written: what a power cut leaves of it is recognised by this, so it is on the disk first. */
  function mark(): void {
    if (isMarked || !database.isOnDisk()) return;
    isMarked = true;
    database.run("PRAGMA synchronous = FULL");
    setMeta("boot", boot);
    setMeta("closed", "no");
    database.get("PRAGMA wal_checkpoint(TRUNCATE)");
    database.run("PRAGMA synchronous = OFF");
  }
  function run(sql: string, ...values: (string | number | null)[]): void {
    mark();
    database.run(sql, ...values);
  }
  function atOnce(work: () => void): void {
    mark();
    database.atOnce(work);
  }
  const setMeta = (name: string, value: string): void =>
    database.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", name, value);

  function putStones(stones: readonly StoneRow[], key: string): void {
    for (const { request_id, turn_id, session_id } of stones) {
      run("INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?)", request_id, turn_id, session_id);
    }
    run("INSERT OR REPLACE INTO meta VALUES ('tombstones', ?)", key);
  }

  return {
    outdated,
    complete: () => run("INSERT OR REPLACE INTO meta VALUES ('complete', 'yes')"),
    count: () => ({
      sessions: numberOf(get("SELECT count(*) AS n FROM sessions")),
      turns: numberOf(get("SELECT count(*) AS n FROM turns")),
    }),

    session: (id) => toSession(get("SELECT * FROM sessions WHERE session_id = ?", id)),
    putSession({ session_id: id, created_at: at, key, data }) {
      run(
        "INSERT INTO sessions (session_id, created_at, active_at, key, data) VALUES (?, ?, ?, ?, ?) " +
          "ON CONFLICT DO UPDATE SET created_at = excluded.created_at, key = excluded.key, data = excluded.data",
        id,
        at,
        at,
        key,
        data,
      );
    },
    touchSession: (id, { at, key }) =>
      run("UPDATE sessions SET active_at = max(active_at, ?), key = ?, bytes = NULL WHERE session_id = ?", at, key, id),
    forgetSession: (id) =>
      atOnce(() => {
        run("DELETE FROM turns WHERE session_id = ?", id);
        run("DELETE FROM sessions WHERE session_id = ?", id);
      }),
    pageSessions({ before, limit }) {
      const rows =
        before === undefined
          ? all("SELECT * FROM sessions ORDER BY created_at DESC, session_id DESC LIMIT ?", limit)
          : all(
              "SELECT * FROM sessions WHERE (created_at, session_id) < (?, ?) ORDER BY created_at DESC, session_id DESC LIMIT ?",
              before.createdAt,
              before.sessionId,
              limit,
            );
      return rows.flatMap((row) => toSession(row) ?? []);
    },
    countedSessions: (after, limit) =>
      all(
        "SELECT session_id, key, (SELECT count(*) FROM turns WHERE turns.session_id = sessions.session_id) AS n " +
          "FROM sessions WHERE session_id > ? ORDER BY session_id LIMIT ?",
        after,
        limit,
      ).map((row) => ({ session_id: idOf(row), key: String(row["key"]), turns: numberOf(row) })),
    idleSessions: ({ before, limit }) =>
      all(
        "SELECT session_id, active_at, bytes FROM sessions WHERE active_at < ? ORDER BY active_at, session_id LIMIT ?",
        before,
        limit,
      ).map((row) => ({
        session_id: idOf(row),
        active_at: String(row["active_at"]),
        bytes: row["bytes"] === null ? null : Number(row["bytes"]),
      })),
    setSessionBytes: (id, bytes) => run("UPDATE sessions SET bytes = ? WHERE session_id = ?", bytes, id),
    totalBytes: () => ({
      bytes: numberOf(get("SELECT coalesce(sum(bytes), 0) AS n FROM sessions")),
      unmeasured: all("SELECT session_id FROM sessions WHERE bytes IS NULL").map(idOf),
    }),

    newestActivity() {
      const newest = get("SELECT max(active_at) AS at FROM sessions")?.["at"];
      return typeof newest === "string" ? newest : undefined;
    },
    note(name) {
      const row = get("SELECT value FROM meta WHERE name = ?", `note:${name}`);
      return row === undefined ? undefined : String(row["value"]);
    },
    putNote: (name, text) => run("INSERT OR REPLACE INTO meta VALUES (?, ?)", `note:${name}`, text),

    turn: (id) => toTurn(get("SELECT * FROM turns WHERE turn_id = ?", id)),
    turnOfRequest: (id) => toTurn(get("SELECT * FROM turns WHERE request_id = ? ORDER BY place DESC LIMIT 1", id)),
    putTurn: (row) =>
      run(
        "INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row.turn_id,
        row.session_id,
        row.request_id,
        row.place,
        row.status,
        row.ended_at,
        row.last_seq,
        row.has_secrets ? 1 : 0,
        row.key,
        row.data,
      ),
    forgetTurn: (id) => run("DELETE FROM turns WHERE turn_id = ?", id),
    pageTurns({ before, sessionId, status, limit }) {
      const conditions: string[] = [];
      const values: (string | number)[] = [];
      function where(condition: string, ...given: (string | number)[]): void {
        conditions.push(condition);
        values.push(...given);
      }
      if (sessionId !== undefined) where("session_id = ?", sessionId);
      if (status !== undefined) where("status = ?", status);
      if (before !== undefined) where("(place, turn_id) < (?, ?)", before.place, before.turnId);
      const filter = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
      // The smaller of two lists is read: a session's turns, not all of a status.
      const by =
        sessionId !== undefined ? "turns_by_session" : status !== undefined ? "turns_by_status" : "turns_by_place";
      const sql = `SELECT * FROM turns INDEXED BY ${by} ${filter} ORDER BY place DESC, turn_id DESC LIMIT ?`;
      return all(sql, ...values, limit).flatMap((row) => toTurn(row) ?? []);
    },
    turnsOfSession: (id, { after = -1, limit = -1 } = {}) =>
      all(
        "SELECT * FROM turns WHERE session_id = ? AND place > ? ORDER BY place, turn_id LIMIT ?",
        id,
        after,
        limit,
      ).flatMap((row) => toTurn(row) ?? []),
    keysOfTurns: (id, after, limit) =>
      all(
        "SELECT turn_id, place, status, key FROM turns INDEXED BY turns_by_session " +
          "WHERE session_id = ? AND (place, turn_id) > (?, ?) ORDER BY place, turn_id LIMIT ?",
        id,
        after.place,
        after.turnId,
        limit,
      ).map((row) => ({
        turnId: String(row["turn_id"]),
        place: Number(row["place"]),
        status: String(row["status"]),
        key: String(row["key"]),
      })),
    turnKeys: (id) =>
      new Map(
        all("SELECT turn_id, status, key FROM turns WHERE session_id = ?", id).map((row) => [
          String(row["turn_id"]),
          { status: String(row["status"]), key: String(row["key"]) },
        ]),
      ),
    turnIds: (id, newest) =>
      all("SELECT turn_id FROM turns WHERE session_id = ? ORDER BY place DESC, turn_id DESC LIMIT ?", id, newest)
        .map((row) => String(row["turn_id"]))
        .toReversed(),
    countTurns: (id) => numberOf(get("SELECT count(*) AS n FROM turns WHERE session_id = ?", id)),
    openTurns: () =>
      all("SELECT * FROM turns WHERE status = 'open' ORDER BY place").flatMap((row) => toTurn(row) ?? []),
    turnsWithSecrets: (id) =>
      all("SELECT turn_id FROM turns WHERE session_id = ? AND has_secrets = 1", id).map((row) =>
        String(row["turn_id"]),
      ),
    lastPlace: () => numberOf(get("SELECT coalesce(max(place), 0) AS n FROM turns")),

    stone(requestId) {
      const row = get("SELECT * FROM tombstones WHERE request_id = ?", requestId);
      if (row === undefined) return undefined;
      return { request_id: requestId, turn_id: String(row["turn_id"]), session_id: idOf(row) };
    },
    putStones: (stones, key) => atOnce(() => putStones(stones, key)),
    replaceStones: (stones, key) =>
      atOnce(() => {
        run("DELETE FROM tombstones");
        putStones(stones, key);
      }),
    stonesKey() {
      const row = get("SELECT value FROM meta WHERE name = 'tombstones'");
      return row === undefined ? undefined : String(row["value"]);
    },

    atOnce,
    isOnDisk: database.isOnDisk,
    close: () =>
      database.close(() => {
        database.run("PRAGMA synchronous = FULL");
        setMeta("closed", "yes");
        database.get("PRAGMA wal_checkpoint(TRUNCATE)");
      }),
  };
}
