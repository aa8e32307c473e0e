import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import type { TestProject } from "vitest/node";
import { openStorage } from "../../../src/service/storage/storage.ts";
import { bundleKillable } from "./bundle-killable.ts";
import { findInCluster } from "./sentinel.ts";
import { startPostgresCluster } from "./postgres-cluster.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The cluster's maintenance database. */
    readonly postgres: string;
    /** Of the test run. */
    readonly directory: string;
    /** The program of a service that can be killed. */
    readonly killableService: string;
  }
}

/** The database that every test's own is a copy of. */
export const TEMPLATE = "svc_template";
/** How the names of the tests' own begin. */
export const TEST_DATABASE = "t_";

const SETTINGS = { logger: pino({ level: "silent" }), isMigrating: true, leaseMs: 10_000 };

/** Starts one PostgreSQL for all tests, makes the schema in it once, and the service that tests kill. */
export default async function provide(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startPostgresCluster();
  const directory = mkdtempSync(join(tmpdir(), "svc-seed-"));
  const cleanUp = async (): Promise<void> => {
    await cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const killable = await bundleKillable(directory);
    await makeTemplate(cluster.url);
    project.provide("killableService", killable);
  } catch (error) {
    await cleanUp();
    throw error;
  }
  project.provide("postgres", cluster.url);
  project.provide("directory", directory);
  return async () => {
    try {
      const places = await findInCluster(cluster.url, TEST_DATABASE);
      if (places.length > 0) throw new Error(`a secret was found in ${places.join("; ")}`);
    } finally {
      await cleanUp();
    }
  };
}

async function makeTemplate(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${TEMPLATE}`);
  await client.end();
  const template = Object.assign(new URL(url), { pathname: `/${TEMPLATE}` }).href;
  const storage = await openStorage({ engine: { kind: "postgres", url: template, poolSize: 2 }, ...SETTINGS });
  await storage.close();
}
