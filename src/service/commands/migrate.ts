import { join } from "node:path";
import type { Settings } from "../settings/settings.ts";
import { openEngine, type Engine, type EngineChoice } from "../storage/engine.ts";
import { protectDataDirectory } from "../storage/data-directory.ts";
import { holdDataDirectory } from "../storage/lock.ts";
import { assertMigrated, migrate } from "../storage/migrate.ts";
import type { Storage } from "../storage/storage.ts";
import { createTransactionScope } from "../storage/transaction.ts";

/** Where the database is that the settings name. */
export function engineChoice({ values, dataDirectory }: Settings): EngineChoice {
  if (values.DATABASE_URL === undefined) return { kind: "pglite", directory: join(dataDirectory, "pglite") };
  return { kind: "postgres", url: values.DATABASE_URL, poolSize: values.SERVICE_DB_POOL };
}

/** Brings the database to this version's schema, and does nothing else. */
export async function migrateDatabase(settings: Settings, out: { write(text: string): unknown }): Promise<void> {
  await withDatabase(settings, async ({ db }) => {
    const steps = await migrate(db);
    out.write(steps.length === 0 ? "the database is up to date\n" : `done: ${steps.join(", ")}\n`);
  });
}

/** Opens a database of this version's schema for transactions. @throws {SchemaOutdated}, {SchemaNewer} */
export async function withTransactions(
  settings: Settings,
  work: (storage: Pick<Storage, "transaction">) => Promise<void>,
): Promise<void> {
  await withDatabase(settings, async ({ db }) => {
    await assertMigrated(db);
    const scope = createTransactionScope();
    await work({ transaction: (fn) => scope.transaction(db, fn) });
  });
}

/** Opens the database for one piece of work. @throws {DataDirectoryHeld} where it is PGlite and a service runs on it */
export async function withDatabase(settings: Settings, work: (engine: Engine) => Promise<void>): Promise<void> {
  const choice = engineChoice(settings);
  if (choice.kind === "pglite") await protectDataDirectory(settings.dataDirectory);
  const lock = choice.kind === "pglite" ? await holdDataDirectory(join(settings.dataDirectory, "lock")) : undefined;
  try {
    const engine = await openEngine(choice, { onConnectionLost: () => undefined });
    try {
      await work(engine);
    } finally {
      await engine.close();
    }
  } finally {
    await lock?.release();
  }
}
