/** "tind": a file that is no index of turnd is not read as one. */
export const APPLICATION_ID = 0x74_69_6e_64;
/** Another number is made again from the directories. Raise it with every change of a table, or of what a column holds. */
export const SCHEMA_VERSION = 1;

/** What is derived from the directories of sessions and turns, and can be made again from them. */
export const SCHEMA = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY, created_at TEXT NOT NULL, active_at TEXT NOT NULL, bytes INTEGER,
  key TEXT NOT NULL, data TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_creation ON sessions (created_at);
CREATE INDEX sessions_by_activity ON sessions (active_at);
CREATE TABLE turns (
  turn_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, request_id TEXT NOT NULL, place INTEGER NOT NULL,
  status TEXT NOT NULL, ended_at TEXT, last_seq INTEGER NOT NULL, has_secrets INTEGER NOT NULL,
  key TEXT NOT NULL, data TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX turns_by_place ON turns (place);
CREATE INDEX turns_by_request ON turns (request_id);
CREATE INDEX turns_by_session ON turns (session_id, place);
CREATE INDEX turns_by_status ON turns (status, place);
CREATE INDEX turns_with_secrets ON turns (session_id) WHERE has_secrets = 1;
CREATE TABLE tombstones (request_id TEXT PRIMARY KEY, turn_id TEXT NOT NULL, session_id TEXT NOT NULL) WITHOUT ROWID;
`;

/** Tables that are copied where the disk takes no more. */
export const TABLES = ["meta", "sessions", "turns", "tombstones"] as const;
