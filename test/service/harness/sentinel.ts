import { sql } from "kysely";
import PQueue from "p-queue";
import pg from "pg";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { KEY_SECRET, PASSWORD } from "./auth.ts";

/** The secrets of the environment that every service of the tests has. */
export const SECRETS = {
  SERVICE_JWT_SECRET: "test-jwt-secret-0123456789abcdefghij",
  SERVICE_KEY_SECRET: KEY_SECRET,
  SERVICE_SANDBOX_SECRET: "test-sandbox-secret-0123456789abcdef",
};

/**
 * What no row, log line, metric or error may hold (law: secrets are derived, hashed or outside): the secrets above, and
 * everything of the shape of an API key, a token of a login or a webhook's secret. Read by JavaScript and by PostgreSQL
 * alike.
 */
const SECRET = [
  PASSWORD,
  ...Object.values(SECRETS),
  // Not the zeros that tests of bad input send.
  "svkey_(?!0{48})[0-9a-f]{48}",
  "eyJ[A-Za-z0-9_-]{10,}[.]eyJ[A-Za-z0-9_-]{10,}[.][A-Za-z0-9_-]{20,}",
  "whsec_[A-Za-z0-9+/]{43}",
].join("|");
const PATTERN = new RegExp(SECRET);
const SHOWN_CHARACTERS = 300;
const AT_ONCE = 4;

/** Whether a text holds a secret. */
export function holdsSecret(text: string): boolean {
  return PATTERN.test(text);
}

/** Watches what one service leaves behind. */
export interface Sentinel {
  /** Notes a secret that has no shape of its own. */
  learn(secret: string): void;
  /** Looks at what leaves the service in a place where no secret may be. */
  watch(place: string, text: string): void;
  /** Looks at every row. @throws naming every place where a secret was found, and drops them */
  assertClean(storage: Storage | undefined): Promise<void>;
}

export function createSentinel(): Sentinel {
  const learned = new Set<string>();
  const places: string[] = [];

  return {
    learn: (secret) => void learned.add(secret),
    watch(place, text) {
      if (holdsSecret(text) || [...learned].some((secret) => text.includes(secret)))
        places.push(`${place}: ${text.slice(0, SHOWN_CHARACTERS)}`);
    },
    async assertClean(storage) {
      if (storage !== undefined) {
        const query = async (text: string) => (await sql<Row>`${sql.raw(text)}`.execute(storage.db)).rows;
        places.push(...(await findInRows(query, [...learned])));
      }
      if (places.length > 0) throw new Error(`a secret was found in ${places.splice(0).join("; ")}`);
    },
  };
}

/**
 * Looks at every row of every database of a cluster whose name begins so: what all tests on PostgreSQL have left.
 *
 * @returns the database and table of each secret
 */
export async function findInCluster(url: string, prefix: string): Promise<string[]> {
  const ask = async <Result>(database: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> => {
    const client = new pg.Client({ connectionString: Object.assign(new URL(url), { pathname: `/${database}` }).href });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  };
  const names = await ask(
    "postgres",
    async (client) =>
      (await client.query<Row>("select datname as place from pg_database where starts_with(datname, $1)", [prefix]))
        .rows,
  );
  const queue = new PQueue({ concurrency: AT_ONCE });
  const found = await queue.addAll(
    names.map(({ place: database }) => async () => {
      const tables = await ask(database, (client) =>
        findInRows(async (text) => (await client.query<Row>(text)).rows, []),
      );
      return tables.map((table) => `${database}: ${table}`);
    }),
  );
  return found.flat();
}

interface Row {
  readonly place: string;
}

/** @returns the tables in whose rows a secret is */
async function findInRows(
  query: (text: string) => Promise<readonly Row[]>,
  learned: readonly string[],
): Promise<string[]> {
  const tables = await query(
    `select format('%I.%I', schemaname, tablename) as place from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  if (tables.length === 0) return [];
  const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
  const isIn = [`row ~ ${literal(SECRET)}`, ...learned.map((secret) => `position(${literal(secret)} in row) > 0`)].join(
    " or ",
  );
  const looks = tables.map(
    ({ place }) =>
      `select ${literal(place)} as place where exists (select from (select t::text as row from ${place} t) rows where ${isIn})`,
  );
  return (await query(looks.join(" union all "))).map(({ place }) => `rows of ${place}`);
}
