import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../../harness/client.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { call } from "../../harness/app.ts";
import { PASSWORD } from "../../harness/auth.ts";
import { startKillableProcess } from "../../harness/killable.ts";
import { makePerson, openDesk, uploadFile, type Desk } from "../../harness/knowledge.ts";
import type { Person } from "../../harness/person.ts";
import { freshDatabase, freshStorage, openTestStorage } from "../../harness/storage.ts";
import { createTextParser } from "../../harness/text-parser.ts";

const BASES = "/api/knowledge/databases";

/** A knowledge base of a person's own, and an import of these files. @returns its task */
async function startImport({ app }: Desk, { token }: Pick<Person, "token">, names: readonly string[]): Promise<string> {
  const { body } = await call(app, "POST", BASES, { name: `kb ${crypto.randomUUID()}` }, { token });
  const kbId: string = body.database.kb_id;
  const items: string[] = [];
  for (const filename of names)
    items.push(
      (await uploadFile(app, { filename, content: `# ${filename}\n\nText.` }, { kbId, token })).body.file_path,
    );
  const params = { auto_index: true };
  return (await call(app, "POST", `${BASES}/${kbId}/documents`, { items, params }, { token })).body.task_id;
}

test("a long import hands its place over between files: another user's is done first, and none is done twice", async () => {
  const waiting = new Map<string, () => void>();
  const parsed: string[] = [];
  const onParse = async (filename: string): Promise<void> => {
    parsed.push(filename);
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.set(filename, resolve);
    await promise;
  };
  // Of two places one is left to the other kinds.
  const desk = await openDesk(await freshStorage("postgres"), {
    parser: createTextParser({ onParse }),
    limits: { filesAtOnce: 1 },
  });
  const goOn = async (filename: string): Promise<void> =>
    (await waitFor(`the parse of ${filename}`, () => waiting.get(filename)))();
  const long = await startImport(desk, desk.admin, ["a1.md", "a2.md", "a3.md"]);
  await waitFor("its first file", () => waiting.has("a1.md"));
  const other = await makePerson(desk.storage, "admin");
  const small = await startImport(desk, other, ["b1.md"]);
  await goOn("a1.md");
  await goOn("b1.md");
  const ended = await waitFor("the small import", async () => {
    const { body } = await call(desk.app, "GET", `/api/tasks/${small}`, undefined, { token: other.token });
    return body.task.completed_at === null ? undefined : body.task;
  });
  expect(ended).toMatchObject({ status: "success", result: { total: 1, indexed: 1, failed: 0 } });
  expect((await desk.task(long)).status).toBe("running");
  await goOn("a2.md");
  await goOn("a3.md");
  expect(await desk.ended(long)).toMatchObject({
    status: "success",
    result: { total: 3, parsed: 3, indexed: 3, failed: 0, skipped: 0 },
  });
  expect(parsed).toEqual(["a1.md", "b1.md", "a2.md", "a3.md"]);
});

/** Logs in the administrator, and another. @returns their tokens */
async function makePeople(url: string): Promise<string[]> {
  const { request } = createClient(url);
  const first = await request("POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
  const token = String(first.body.access_token);
  const second = { username: "second", password: PASSWORD, role: "admin" };
  expect((await request("POST", "/api/auth/users", second, { authorization: `Bearer ${token}` })).status).toBe(200);
  const { body } = await request("POST", "/api/auth/token", { username: "second", password: PASSWORD });
  return [token, String(body.access_token)];
}

/** Asks for an import of so many files, as one person. */
async function importAt(url: string, token: string, count: number): Promise<void> {
  const authorization = `Bearer ${token}`;
  const ask = (path: string, body: unknown) => createClient(url).request("POST", path, body, { authorization });
  const kbId = (await ask(BASES, { name: `kb ${token.slice(-8)}` })).body.database.kb_id;
  const items: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const body = new FormData();
    body.set("file", new Blob([`# Document ${at} of ${kbId}\n\nText.`]), `${at}.md`);
    const address = `${url}/api/knowledge/files/upload?kb_id=${kbId}`;
    const answer = await fetch(address, { method: "POST", headers: { authorization }, body });
    items.push(JSON.parse(await answer.text()).file_path);
  }
  expect((await ask(`${BASES}/${kbId}/documents`, { items, params: { auto_index: true } })).status).toBe(200);
}

// PostgreSQL alone: a start costs less there.
test("imports that take turns and are killed lose no file and do none twice", { timeout: 240_000 }, async () => {
  const database = await freshDatabase("postgres");
  const directory = temporaryDirectory(onTestFinished);
  const [kills, each] = [1, 3];
  const parses = join(directory, "parses");
  const filesAt = (step: string): string[] =>
    (existsSync(parses) ? readFileSync(parses, "utf8") : "")
      .split("\n")
      .filter((line) => line.includes(` ${step} `))
      .map((line) => line.split(" ").at(-1) ?? "");
  const start = (role: "api" | "worker") =>
    startKillableProcess({
      directory,
      turndUrl: "http://127.0.0.1:9",
      databaseUrl: database.url,
      env: {
        KILLABLE_ROLE: role,
        KILLABLE_PARSES: parses,
        SERVICE_TASK_CONCURRENCY: "1",
        SERVICE_KB_PARSERS: "1",
        SERVICE_TASK_TURN_MS: "0",
        SERVICE_KB_LEASE_MS: "10000",
      },
    });
  const api = await start("api");
  const people = await makePeople(api.url);
  for (const token of people) await importAt(api.url, token, each);
  for (let life = 1; life <= kills; life += 1) {
    const worker = await start("worker");
    await waitFor("three more files", () => filesAt("parse.finished").length >= 3 * life, 60_000);
    worker.kill("SIGKILL");
    await worker.exited;
  }
  await start("worker");
  const storage = await openTestStorage(database);
  onTestFinished(() => storage.close());
  const imports = storage.db.selectFrom("task").where("kind", "=", "knowledge_ingest");
  const ended = await waitFor(
    "every import's end",
    async () => {
      const rows = await imports.select(["status", "result", "attempt"]).execute();
      return rows.every(({ status }) => status !== "pending" && status !== "running") ? rows : undefined;
    },
    120_000,
  );
  const result = { total: each, parsed: each, indexed: each, failed: 0, skipped: 0 };
  expect(ended).toMatchObject(people.map(() => ({ status: "success", result })));
  // Each handed its place over besides being killed.
  expect(ended.reduce((sum, { attempt }) => sum + attempt, 0)).toBeGreaterThan(people.length + kills);
  const files = each * people.length;
  const [begun, finished] = [filesAt("parse.claimed"), filesAt("parse.finished")];
  expect([new Set(finished).size, new Set(begun).size]).toEqual([files, files]);
  // Again only what a kill has interrupted.
  expect(begun.length).toBeLessThanOrEqual(files + kills);
});
