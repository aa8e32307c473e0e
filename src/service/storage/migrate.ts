import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { sql, type Kysely } from "kysely";
import { Migrator, type Migration } from "kysely/migration";
import type { Database } from "./tables.ts";

const DIRECTORY = join(import.meta.dirname, "migrations");
const MIGRATIONS = "migration";

/** The database is older than this program, and was not to be changed. */
export class SchemaOutdated extends Error {
  constructor(missing: readonly string[]) {
    super(`the database lacks ${missing.join(", ")}: run \`migrate\`, or start without SERVICE_MIGRATE=false`);
    this.name = "SchemaOutdated";
  }
}

/** The database is newer than this program. */
export class SchemaNewer extends Error {
  constructor(unknown: readonly string[]) {
    super(
      `the database has ${unknown.join(", ")}, which this version does not have: ` +
        "start the version that made it, or restore a backup that is older than it",
    );
    this.name = "SchemaNewer";
  }
}

/**
 * Brings the database to this program's schema. Several processes may try at once; one does it.
 *
 * @returns the names of the steps that were taken
 * @throws {SchemaNewer} before anything is changed
 */
export async function migrate(db: Kysely<Database>): Promise<readonly string[]> {
  await assertNotNewer(db);
  const { error, results } = await createMigrator(db).migrateToLatest();
  if (error !== undefined) throw error instanceof Error ? error : new Error("the migration failed", { cause: error });
  return (results ?? []).filter(({ status }) => status === "Success").map(({ migrationName }) => migrationName);
}

/** @throws {SchemaOutdated} when a step is missing; {SchemaNewer} when there is one too many */
export async function assertMigrated(db: Kysely<Database>): Promise<void> {
  await assertNotNewer(db);
  const steps = await createMigrator(db).getMigrations();
  const missing = steps.filter(({ executedAt }) => executedAt === undefined).map(({ name }) => name);
  if (missing.length > 0) throw new SchemaOutdated(missing);
}

async function assertNotNewer(db: Kysely<Database>): Promise<void> {
  const { rows: found } = await sql<{ name: string | null }>`select to_regclass(${MIGRATIONS})::text as name`.execute(
    db,
  );
  if (typeof found[0]?.name !== "string") return;
  const known = new Set(Object.keys(await readMigrations()));
  const { rows } = await sql<{ name: string }>`select name from ${sql.id(MIGRATIONS)} order by name`.execute(db);
  const unknown = rows.map(({ name }) => name).filter((name) => !known.has(name));
  if (unknown.length > 0) throw new SchemaNewer(unknown);
}

function createMigrator(db: Kysely<Database>): Migrator {
  return new Migrator({
    db,
    provider: { getMigrations: readMigrations },
    migrationTableName: MIGRATIONS,
    migrationLockTableName: "migration_lock",
  });
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(DIRECTORY)).filter((name) => name.endsWith(".sql"));
  const steps = files.map(
    async (name) => [name.replace(/\.sql$/, ""), toMigration(await readFile(join(DIRECTORY, name), "utf8"))] as const,
  );
  return Object.fromEntries(await Promise.all(steps));
}

/** Statements end in `;` at a line's end: neither driver takes several at once with parameters bound. */
function toMigration(text: string): Migration {
  return {
    async up(db) {
      for (const statement of text.split(/;[ \t]*$/m)) {
        if (statement.trim() !== "") await sql.raw(statement).execute(db);
      }
    },
  };
}
