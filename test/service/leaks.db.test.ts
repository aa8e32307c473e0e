import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { fakeDaemon } from "../harness/fake-daemon.ts";
import { makeUser, PASSWORD } from "./harness/auth.ts";
import { TEMPLATE } from "./harness/provide-databases.ts";
import { createSentinel, findInCluster, SECRETS } from "./harness/sentinel.ts";
import { startTestService } from "./harness/service.ts";
import { administer, freshDatabase, openTestStorage } from "./harness/storage.ts";

test("no secret is in any row, and none in the log at its lowest level", async () => {
  const log: string[] = [];
  const database = await freshDatabase("postgres");
  const service = await startTestService({
    turndUrl: (await fakeDaemon()).url,
    databaseUrl: database.url,
    onLog: (line) => log.push(line),
  });
  const mistyped = "typed-into-the-wrong-field-1";
  const { body: login } = await service.call("POST", "/api/auth/token", { username: "root", password: PASSWORD });
  await service.call("POST", "/api/auth/token", { username: mistyped, password: mistyped });
  const { body: made } = await service.call("POST", "/api/user/apikey/", {
    request_id: "create-key-0001",
    name: "ci",
  });
  const { body: started } = await service.call("POST", "/api/auth/cli/sessions", {});
  await service.call("POST", `/api/auth/cli/sessions/${started.user_code}/approve`);
  const { body: exchanged } = await service.call("POST", "/api/auth/cli/sessions/token", {
    device_code: started.device_code,
  });
  await service.result((await service.submit(await service.thread(), "Done.")).run_id);
  await service.call("GET", `/api/agent/runs/x?key=${made.secret}`);
  await service.stop();

  const secrets = [
    PASSWORD,
    mistyped,
    login.access_token,
    made.secret,
    exchanged.secret,
    started.device_code,
    "test-jwt-secret-0123456789abcdefghij",
    "kit-key-secret-0123456789abcdefgh",
    "test-sandbox-secret-0123456789abcdef",
  ];
  expect(secrets.every((secret) => typeof secret === "string" && secret.length > 15)).toBe(true);
  const storage = await openTestStorage(database);
  onTestFinished(() => storage.close());
  const { rows: tables } = await sql<{ schema: string; name: string }>`
    select table_schema as schema, table_name as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema in ('public', 'tasks_boss')`.execute(storage.db);
  expect(tables.length).toBeGreaterThan(20);
  let rows = log.join("");
  for (const { schema, name } of tables) {
    const { rows: found } = await sql<{ row: string }>`select t::text as row from ${sql.id(schema, name)} t`.execute(
      storage.db,
    );
    rows += found.map(({ row }) => row).join("\n");
  }
  expect(rows).toContain("create-key-0001");
  expect(secrets.filter((secret) => rows.includes(secret))).toEqual([]);
});

describe("the sentinel of every other test finds a secret that is planted", () => {
  /** A database of another name than those that the run's end looks at. */
  async function plantingDatabase(): Promise<{ name: string; url: string }> {
    const name = `planted_${randomBytes(6).toString("hex")}`;
    await administer(`create database ${name} template ${TEMPLATE}`);
    onTestFinished(() => administer(`drop database ${name}`));
    return { name, url: Object.assign(new URL(inject("postgres")), { pathname: `/${name}` }).href };
  }

  test("in a row of a service, when it is stopped", async () => {
    const { url: databaseUrl } = await plantingDatabase();
    const service = await startTestService({ turndUrl: (await fakeDaemon()).url, databaseUrl });
    const { body } = await service.call("POST", "/api/user/apikey/", { request_id: "create-key-0001", name: "ci" });
    await service.submit(await service.thread(), `Use ${body.secret}.`);
    await expect(service.stop()).rejects.toThrow(/secret was found in rows of public\.run/);
  });

  test("in a database that a test on PostgreSQL has left", async () => {
    const { name, url } = await plantingDatabase();
    expect(await findInCluster(inject("postgres"), name)).toEqual([]);
    const storage = await openTestStorage({ kind: "postgres", url, poolSize: 2 });
    await makeUser(storage, { username: `svkey_${"5".repeat(48)}` });
    await storage.close();
    expect(await findInCluster(inject("postgres"), name)).toEqual([`${name}: rows of public.account`]);
  });

  test("in a log line, an error or the metrics, by its shape or as one that was given out", async () => {
    const token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg";
    const secrets = [PASSWORD, ...Object.values(SECRETS), token, `whsec_${"k".repeat(43)}=`, "given-out-once"];
    for (const secret of secrets) {
      const sentinel = createSentinel();
      sentinel.learn("given-out-once");
      sentinel.watch("the log", JSON.stringify({ msg: "asked", header: "Bearer of another" }));
      await sentinel.assertClean(undefined);
      sentinel.watch("the log", JSON.stringify({ msg: "asked", header: `Bearer ${secret}` }));
      await expect(sentinel.assertClean(undefined)).rejects.toThrow("a secret was found in the log");
    }
  });
});
