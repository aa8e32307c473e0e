import { sql } from "kysely";
import { describe, expect, onTestFinished, test } from "vitest";
import { fakeDaemon } from "../harness/fake-daemon.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { PASSWORD } from "./harness/auth.ts";
import { startTestService } from "./harness/service.ts";
import { ENGINES, freshDatabase, openTestStorage } from "./harness/storage.ts";
import { join } from "node:path";

describe.each(ENGINES)("%s", (kind) => {
  test("no secret is in any row, and none in the log at its lowest level", async () => {
    const log: string[] = [];
    const database = await freshDatabase(kind);
    const directory = temporaryDirectory(onTestFinished);
    const databaseUrl = database.kind === "postgres" ? database.url : undefined;
    const service = await startTestService({
      turndUrl: (await fakeDaemon()).url,
      directory,
      databaseUrl,
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
    const storage = await openTestStorage(
      database.kind === "postgres" ? database : { kind: "pglite", directory: join(directory, "pglite") },
    );
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
});
