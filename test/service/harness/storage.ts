import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, inject, onTestFinished } from "vitest";
import type { EngineChoice } from "../../../src/service/storage/engine.ts";
import { openStorage, type Storage } from "../../../src/service/storage/storage.ts";
import { providePglite } from "./pglite-seed.ts";
import { TEMPLATE, TEST_DATABASE } from "./provide-databases.ts";

/**
 * Both engines, for what depends on one: storage, migrations, jobs, races, properties, the pool, kills. Everything else runs on
 * PostgreSQL. Law: one dialect.
 */
export const ENGINES = ["pglite", "postgres"] as const;
export type EngineKind = (typeof ENGINES)[number];

/** The least that pg-boss takes. */
export const LEASE_MS = 10_000;

/** An empty database with the schema in it. */
export async function freshDatabase(kind: "postgres"): Promise<Extract<EngineChoice, { kind: "postgres" }>>;
export async function freshDatabase(kind: EngineKind): Promise<EngineChoice>;
export async function freshDatabase(kind: EngineKind): Promise<EngineChoice> {
  if (kind === "pglite")
    return { kind, seed: new Blob([readFileSync((await providePglite(inject("directory"))).dump)]) };
  return { kind, url: await freshDatabaseUrl(), poolSize: 10 };
}

/** The address of one on PostgreSQL: a copy of the template costs 40 ms of CPU, a PGlite that is opened a second. */
export async function freshDatabaseUrl(): Promise<string> {
  const name = `${TEST_DATABASE}${randomBytes(6).toString("hex")}`;
  await administer(`create database ${name} template ${TEMPLATE}`);
  return Object.assign(new URL(inject("postgres")), { pathname: `/${name}` }).href;
}

/** Puts a database with the schema where a service on PGlite looks for its own, unless it has one. */
export async function seedDataDirectory(directory: string): Promise<void> {
  const own = join(directory, "pglite");
  if (!existsSync(own)) await cp((await providePglite(inject("directory"))).directory, own, { recursive: true });
}

/** A storage of this test's own, closed when it is done. */
export async function freshStorage(kind: EngineKind): Promise<Storage> {
  const storage = await openTestStorage(await freshDatabase(kind));
  onTestFinished(() => storage.close());
  return storage;
}

export async function openTestStorage(engine: EngineChoice): Promise<Storage> {
  const level = process.env["SVC_TEST_LOG"] ?? "silent";
  return openStorage({ engine, logger: pino({ level }), isMigrating: true, leaseMs: LEASE_MS });
}

export async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject("postgres") });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** One storage for all tests of a `describe`. */
export function shareStorage(kind: EngineKind): () => Storage {
  let storage: Storage | undefined;
  beforeAll(async () => {
    storage = await openTestStorage(await freshDatabase(kind));
  });
  afterAll(() => storage?.close());
  return () => {
    if (storage === undefined) throw new Error("the storage did not open");
    return storage;
  };
}
