import { PGlite } from "@electric-sql/pglite";
import { pg_textsearch } from "@electric-sql/pglite-pg_textsearch";
import { vector } from "@electric-sql/pglite-pgvector";
import { Kysely, PGliteDialect, PostgresDialect } from "kysely";
import pg from "pg";
import { defined } from "../../kit/defined.ts";
import { openPgliteDirectory } from "./pglite-directory.ts";
import { createPgliteListener, createPostgresListener, type Listener } from "./listen.ts";
import type { Database } from "./tables.ts";

/** Which database there is. */
export type EngineChoice =
  | {
      readonly kind: "pglite";
      /** Its directory; absent: in memory. */
      readonly directory?: string | undefined;
      /** A dumped data directory to begin with. */
      readonly seed?: Blob | undefined;
    }
  | { readonly kind: "postgres"; readonly url: string; readonly poolSize: number };

/** An open database. */
export interface Engine {
  readonly kind: EngineChoice["kind"];
  readonly db: Kysely<Database>;
  readonly listener: Listener;
  /** How pg-boss gets at the database. */
  readonly boss: BossConnection;
  /** The data directory as a file; PGlite only. */
  dump?(): Promise<Blob>;
  close(): Promise<void>;
}

/** pg-boss on PGlite shares the one connection, elsewhere it has a pool of its own. */
export type BossConnection =
  | { readonly kind: "pglite"; readonly pglite: PGlite }
  | ({ readonly kind: "postgres" } & { readonly connectionString: string });

export interface EngineEvents {
  /** An idle connection broke; the next query makes another. */
  onConnectionLost(error: Error): void;
  /** PGlite has ended by itself, and answers nothing more: only another process can open it again. */
  onDatabaseEnded?(error: Error): void;
}

const MINIMUM_VERSION = 150_000;
const CONNECT_MS = 10_000;
/** An idle connection is closed after this: making one costs more than several statements. */
const IDLE_MS = 60_000;
/** Longest statement, and longest pause inside a transaction: both only ever mean a fault. */
const STATEMENT_MS = 60_000;

const [INT8, DATE] = [20, 1082];

/** Opens the database. @throws when it is away, or older than PostgreSQL 15 */
export async function openEngine(choice: EngineChoice, events: EngineEvents): Promise<Engine> {
  return choice.kind === "pglite" ? openPglite(choice, events) : openPostgres(choice, events);
}

async function openPglite(
  { directory, seed }: Extract<EngineChoice, { kind: "pglite" }>,
  events: EngineEvents,
): Promise<Engine> {
  const options = { parsers: { [INT8]: Number, [DATE]: String }, extensions: { vector, pg_textsearch } };
  const pglite =
    directory === undefined
      ? await PGlite.create({ ...options, ...defined({ loadDataDir: seed }) })
      : await openPgliteDirectory(directory, options, seed);
  const end = watchForEnd(pglite, (error) => events.onDatabaseEnded?.(error));
  const listener = createPgliteListener(pglite);
  return {
    kind: "pglite",
    db: new Kysely<Database>({ dialect: new PGliteDialect({ pglite }) }),
    listener,
    boss: { kind: "pglite", pglite },
    dump: () => pglite.dumpDataDir("none"),
    async close() {
      // There is nothing left to close.
      if (end.fault() !== undefined) return;
      await listener.close();
      // Not `db.destroy()`: that does nothing where no query has been made yet.
      await pglite.close();
    },
  };
}

async function openPostgres(
  { url, poolSize }: Extract<EngineChoice, { kind: "postgres" }>,
  events: EngineEvents,
): Promise<Engine> {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: STATEMENT_MS,
    keepAlive: true,
    application_name: "svc",
    types: readTypes(),
  });
  // A connection that breaks in the middle of a transaction emits `error` itself, which ends the process without a listener;
  // for an idle one the pool emits it as well.
  pool.on("connect", (client) => client.on("error", (error) => events.onConnectionLost(error)));
  pool.on("error", () => {});
  try {
    const { rows } = await pool.query<{ version: number }>(
      "select current_setting('server_version_num')::int as version",
    );
    const version = rows[0]?.version ?? 0;
    if (version < MINIMUM_VERSION)
      throw new Error(`PostgreSQL 15 or newer is needed, this is ${Math.floor(version / 10_000)}`);
  } catch (error) {
    await pool.end();
    throw error;
  }
  const listener = createPostgresListener(url, events);
  return {
    kind: "postgres",
    db: new Kysely<Database>({ dialect: new PostgresDialect({ pool }) }),
    listener,
    boss: { kind: "postgres", connectionString: url },
    async close() {
      await listener.close();
      await pool.end();
    },
  };
}

/** As PGlite reads them: counts and identities are numbers, a day is a text. */
function readTypes(): InstanceType<typeof pg.TypeOverrides> {
  const types = new pg.TypeOverrides();
  types.setTypeParser(INT8, Number);
  types.setTypeParser(DATE, String);
  return types;
}

/** Whether PGlite has ended by itself, and of what. */
interface PgliteEnd {
  readonly fault: () => Error | undefined;
}

/**
 * Notices that PGlite has ended: where its write-ahead log cannot be written, as on a full disk, it ends with a PANIC, and the next
 * query would hold the event loop for ever. From then on each query fails with that error, at once.
 * Law: every wait is bounded.
 */
function watchForEnd(pglite: PGlite, onEnd: (fault: Error) => void): PgliteEnd {
  let fault: Error | undefined;
  const send = pglite.execProtocolStream.bind(pglite);
  // Every query of every caller comes through here.
  pglite.execProtocolStream = async (...given) => {
    if (fault !== undefined) throw fault;
    try {
      return await send(...given);
    } catch (error) {
      if (fault === undefined && hasEnded(error)) {
        fault = error;
        onEnd(error);
      }
      throw error;
    }
  };
  return { fault: () => fault };
}

function hasEnded(error: unknown): error is Error {
  return error instanceof Error && "severity" in error && (error.severity === "PANIC" || error.severity === "FATAL");
}
