import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { readInstanceId } from "../../../src/service/sandboxes/instance-id.ts";
import { ensureRow } from "../../../src/service/sandboxes/sandbox-rows.ts";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";
import { freshService, startTestService, type TestService } from "../harness/service.ts";
import { administer, freshDatabase, openTestStorage } from "../harness/storage.ts";

const DOCUMENT = readFileSync(join(REPOSITORY, "docs/service.md"), "utf8");

/** The block of the document that holds a text. */
function block(language: string, part: string): string {
  const found = [...DOCUMENT.matchAll(/```(\w+)\n([^]*?)```/g)].find(
    ([, kind, text = ""]) => kind === language && text.includes(part),
  );
  if (found === undefined) throw new Error(`docs/service.md has no ${language} block with ${part}`);
  return found[2] ?? "";
}

/** Runs one line of a block that holds a text, as a person would paste it. */
async function runLine(part: string, cwd: string, env: Readonly<Record<string, string>>): Promise<void> {
  const line = block("sh", part)
    .split("\n")
    .find((each) => each.includes(part));
  const result = await execa("bash", ["-euo", "pipefail", "-c", line ?? "exit 99"], { cwd, env, reject: false });
  expect(result.exitCode, result.stderr).toBe(0);
}

/** What must be there after a restore: a key that works, and a run with its result and events. */
async function leaveTraces(service: TestService) {
  const { body: key } = await service.call("POST", "/api/user/apikey/", { request_id: "key-0001", name: "kept" });
  const { run_id: runId } = await service.submit(await service.thread(), "tool ls\nkept words");
  const result = await service.result(runId);
  return { secret: String(key.secret), runId: String(runId), result, events: await service.events(runId) };
}

async function expectTraces(service: TestService, traces: Awaited<ReturnType<typeof leaveTraces>>): Promise<void> {
  const asKey = { authorization: `Bearer ${traces.secret}` };
  const { body } = await service.call("GET", `/api/agent/runs/${traces.runId}/result`, undefined, asKey);
  expect(body).toEqual(traces.result);
  expect(await service.events(traces.runId)).toEqual(traces.events);
  // It works, too, and does not only list.
  const { run_id: next } = await service.submit(await service.thread(), "after the restore");
  expect(await service.result(next)).toMatchObject({ status: "completed", output: "after the restore" });
}

test("the client in 30 lines, copied, runs an agent", async () => {
  const daemon = await fakeDaemon();
  const directory = temporaryDirectory(onTestFinished);
  const service = await freshService("postgres", { turndUrl: daemon.url });
  const { body: key } = await service.call("POST", "/api/user/apikey/", { request_id: "key-0001", name: "client" });
  const client = block("js", "SVC_KEY");
  expect(client.trim().split("\n").length).toBeLessThanOrEqual(31);
  writeFileSync(join(directory, "client.mjs"), client);
  const { stdout, exitCode, stderr } = await execa(process.execPath, [join(directory, "client.mjs")], {
    env: { SVC_URL: service.url, SVC_KEY: key.secret },
    reject: false,
  });
  expect(exitCode, stderr).toBe(0);
  expect(stdout).toMatch(/^1 metadata [^]*\d+ end [^]*completed List the files\./);
});

test("the requests of the document make an agent with instructions, share it with a department, and approve a plan", async () => {
  const service = await freshService("postgres", { turndUrl: (await fakeDaemon()).url });
  const script = ['"reviewer"', "DEPARTMENT=", "PLAN="].map((part) => block("sh", part)).join("\n");
  const result = await execa("bash", ["-euo", "pipefail", "-c", script], {
    env: {
      B: service.url,
      H: `Authorization: ${service.authorization()}`,
      J: "Content-Type: application/json",
      PASSWORD: "a-password-of-this-test",
    },
    reject: false,
  });
  expect(result.exitCode, result.stderr).toBe(0);
  expect(result.stdout).not.toContain('"detail"');
  const { body: departments } = await service.call("GET", "/api/departments");
  const id = departments.departments.find(({ name }: { name: string }) => name === "Research").id;
  expect((await service.call("GET", "/api/agents/reviewer")).body.agent).toMatchObject({
    instructions: "Answer in English.",
    permissions: { network: "deny" },
    share_config: { read_scope: { access_level: "department", department_ids: [id] } },
    revision: 3,
  });
  expect((await service.call("GET", "/api/auth/users")).body.users).toContainEqual(
    expect.objectContaining({ username: "ada", department_id: id }),
  );
  const [carriedOut, plan] = (await service.call("GET", "/api/agent/runs")).body.runs;
  expect(await service.result(carriedOut.run_id)).toMatchObject({ status: "completed" });
  expect(await service.result(plan.run_id)).toMatchObject({ status: "interrupted" });
});

test("PGlite: the commands of the document back up and restore", async () => {
  const daemon = await fakeDaemon();
  const directory = temporaryDirectory(onTestFinished);
  const [data, restored] = [join(directory, "data"), join(directory, "restored")];
  const first = await startTestService({ turndUrl: daemon.url, directory: data });
  const traces = await leaveTraces(first);
  await first.stop();
  await runLine("-cf service.tar", directory, { SERVICE_DATA_DIR: data });
  await runLine("-xpf service.tar", directory, { RESTORED: restored });
  await expectTraces(await startTestService({ turndUrl: daemon.url, directory: restored }), traces);
});

test("PostgreSQL: the commands of the document back up a service that runs, and restore", async () => {
  const daemon = await fakeDaemon();
  const directory = temporaryDirectory(onTestFinished);
  const database = await freshDatabase("postgres");
  const first = await startTestService({ turndUrl: daemon.url, databaseUrl: database.url });
  const traces = await leaveTraces(first);
  await runLine("pg_dump", directory, { DATABASE_URL: database.url });
  await first.stop();
  const name = `restored_${process.pid}`;
  await administer(`create database ${name}`);
  const url = Object.assign(new URL(database.url), { pathname: `/${name}` }).href;
  await runLine("pg_restore", directory, { RESTORED_URL: url });
  await expectTraces(await startTestService({ turndUrl: daemon.url, databaseUrl: url }), traces);
});

test("rotated secrets: keys go on working, logins end, and the start reports what has changed", async () => {
  const daemon = await fakeDaemon();
  const database = await freshDatabase("postgres");
  const options = { turndUrl: daemon.url, databaseUrl: database.url };
  const first = await startTestService(options);
  const { body: key } = await first.call("POST", "/api/user/apikey/", { request_id: "key-0001", name: "kept" });
  const login = first.authorization();
  await first.stop();
  const second = await startTestService({
    ...options,
    env: {
      SERVICE_JWT_SECRET: "another-jwt-secret-0123456789abcdefg",
      SERVICE_KEY_SECRET: "another-key-secret-0123456789abcdefg",
      SERVICE_SANDBOX_SECRET: "another-sandbox-secret-0123456789ab",
    },
  });
  const me = async (authorization: string) =>
    (await second.call("GET", "/api/auth/me", undefined, { authorization })).status;
  expect([await me(login), await me(`Bearer ${key.secret}`)]).toEqual([401, 200]);
  const repeated = await second.call("POST", "/api/user/apikey/", { request_id: "key-0001", name: "kept" });
  expect([repeated.status, repeated.body.detail.code]).toEqual([409, "master_key_rotated"]);
  const { body: next } = await second.call("POST", "/api/user/apikey/", { request_id: "key-0002", name: "next" });
  expect(await me(`Bearer ${next.secret}`)).toBe(200);
  const { warnings } = (await second.call("GET", "/api/system/info")).body;
  for (const name of ["JWT", "KEY", "SANDBOX"]) {
    expect(warnings).toContain(`SERVICE_${name}_SECRET is not the one of the last start`);
  }
});

test("a restored copy drops the sandboxes of its original by the command of the document", async () => {
  const database = await freshDatabase("postgres");
  const storage = await openTestStorage(database);
  onTestFinished(() => storage.close());
  const original = await readInstanceId(storage);
  await ensureRow(storage, { kind: "docker", scopeKey: "thread:1" });
  await runLine("delete from sandbox", "/", { RESTORED_URL: database.url });
  expect(await storage.db.selectFrom("sandbox").selectAll().execute()).toEqual([]);
  expect(await readInstanceId(storage)).not.toBe(original);
});
