import type { Row } from "./database.ts";

/** A session as the index knows it. `data` is its file as JSON; `key` recognises its directory. */
export interface SessionRow {
  readonly session_id: string;
  readonly created_at: string;
  readonly key: string;
  readonly data: string;
}

/** A session, and how many turns the index has of it. */
export interface CountedSession extends Pick<SessionRow, "session_id" | "key"> {
  readonly turns: number;
}

/** A session in which nothing happened for a while; `bytes` is null where what it takes on the disk is not known. */
export interface IdleSession extends Pick<SessionRow, "session_id"> {
  readonly active_at: string;
  readonly bytes: number | null;
}

/** A turn as the index knows it. `status` is `open` until its end and everything after it are done. */
export interface TurnRow {
  readonly turn_id: string;
  readonly session_id: string;
  readonly request_id: string;
  readonly place: number;
  readonly status: string;
  readonly ended_at: string | null;
  readonly last_seq: number;
  readonly has_secrets: boolean;
  /** Empty where its directory is to be read again in any case. */
  readonly key: string;
  /** What lists show of it, as JSON. */
  readonly data: string;
}

export interface StoneRow {
  readonly request_id: string;
  readonly turn_id: string;
  readonly session_id: string;
}

/** The number of a query that counts. */
export const numberOf = (row: Row | undefined): number => Number(row?.["n"] ?? 0);
/** The session that a row names. */
export const idOf = (row: Row): string => String(row["session_id"]);

/** A row of sessions. */
export function toSession(row: Row | undefined): SessionRow | undefined {
  if (row === undefined) return undefined;
  return {
    session_id: idOf(row),
    created_at: String(row["created_at"]),
    key: String(row["key"]),
    data: String(row["data"]),
  };
}

/** A row of turns. */
export function toTurn(row: Row | undefined): TurnRow | undefined {
  if (row === undefined) return undefined;
  return {
    turn_id: String(row["turn_id"]),
    session_id: idOf(row),
    request_id: String(row["request_id"]),
    place: Number(row["place"]),
    status: String(row["status"]),
    ended_at: row["ended_at"] === null ? null : String(row["ended_at"]),
    last_seq: Number(row["last_seq"]),
    has_secrets: row["has_secrets"] === 1,
    key: String(row["key"]),
    data: String(row["data"]),
  };
}
