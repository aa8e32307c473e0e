import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import type { Caller } from "../../../src/service/auth/caller.ts";
import { createTokens } from "../../../src/service/auth/jwt.ts";
import type { Knowledge } from "../../../src/service/knowledge/knowledge.ts";
import { openObjectDirectory } from "../../../src/service/storage/object-directory.ts";
import type { Objects } from "../../../src/service/storage/objects.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { createTaskControls } from "../../../src/service/tasks/task-controls.ts";
import { workOnTasks } from "../../../src/service/tasks/work-on-tasks.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { makeKnowledge, type KnowledgeOverrides } from "./knowledge-room.ts";
import { call, testApp, type Call } from "./app.ts";
import { JWT_SECRET, makeUser, testAuth, uidOf } from "./auth.ts";
import type { Person } from "./person.ts";

/** The room, on a storage, with objects in a temporary directory. */
export async function testKnowledge(
  storage: Storage,
  overrides: KnowledgeOverrides = {},
): Promise<{ knowledge: Knowledge; objects: Objects }> {
  const objects = overrides.objects ?? openObjectDirectory(temporaryDirectory(onTestFinished));
  const knowledge = await makeKnowledge(storage, objects, overrides);
  onTestFinished(() => knowledge.close());
  return { knowledge, objects };
}

/** A caller with a token. */
export async function makePerson(
  storage: Storage,
  role: Caller["role"],
  departmentId: number | null = null,
): Promise<Person> {
  const { caller } = await makeUser(storage, { role, departmentId });
  return {
    caller,
    token: await createTokens(JWT_SECRET, 600_000).sign({ uid: await uidOf(storage, caller.userId), epoch: 1 }),
  };
}

/** An app with a knowledge base of an admin's, and workers. */
export type Desk = Awaited<ReturnType<typeof openDesk>>;

export async function openDesk(storage: Storage, options: KnowledgeOverrides = {}) {
  const { knowledge, objects } = await testKnowledge(storage, options);
  const app = await testApp(storage, { auth: testAuth(storage, { jwtTtlMs: 600_000 }), knowledge });
  onTestFinished(() => app.close());
  const admin = await makePerson(storage, "admin");
  const logger = pino({ level: process.env["SVC_TEST_LOG"] ?? "silent" });
  const controls = await createTaskControls(storage, logger);
  onTestFinished(() => controls.close());
  await workOnTasks({ storage, kinds: knowledge.taskKinds(), controls, logger }, { places: 2, turnMs: 0 });
  const ask = (method: "GET" | "POST" | "PUT" | "DELETE", url: string, body?: unknown, more: Call = {}) =>
    call(app, method, url, body, { token: admin.token, ...more });
  const made = await ask("POST", "/api/knowledge/databases", { name: `kb ${crypto.randomUUID()}` });
  const kbId: string = made.body.database.kb_id;
  const path = `/api/knowledge/databases/${kbId}`;

  const desk = {
    app,
    storage,
    knowledge,
    objects,
    admin,
    kbId,
    path,
    ask,
    upload: (filename: string, content: string | Buffer, more: Partial<Parameters<typeof uploadFile>[2]> = {}) =>
      uploadFile(app, { filename, content }, { kbId, token: admin.token, ...more }),
    /** @returns the id of the new record */
    async add(filename: string, content: string): Promise<string> {
      const { body } = await desk.upload(filename, content, { allowDuplicate: true });
      const added = await ask("POST", `${path}/documents/add`, { items: [body.file_path] });
      return added.body.items[0].file_id;
    },
    file: async (id: string) => (await ask("GET", `${path}/documents/${id}`)).body.file,
    task: async (id: string) => (await ask("GET", `/api/tasks/${id}`)).body.task,
    ended: (id: string) =>
      waitFor("the task's end", async () => {
        const task = await desk.task(id);
        return ["success", "failed", "cancelled"].includes(task.status) ? task : undefined;
      }),
    /** Uploads, parses and indexes. @returns the ids, in order */
    async ingest(files: Readonly<Record<string, string>>): Promise<string[]> {
      const items: string[] = [];
      for (const [name, content] of Object.entries(files))
        items.push((await desk.upload(name, content, { allowDuplicate: true })).body.file_path);
      const { body } = await ask("POST", `${path}/documents`, { items, params: { auto_index: true } });
      await desk.ended(body.task_id);
      return body.file_ids;
    },
  };
  return desk;
}

/** Uploads one file as a browser does. */
export async function uploadFile(
  app: FastifyInstance,
  file: { filename: string; content: string | Buffer },
  options: { kbId?: string; token: string; allowDuplicate?: boolean },
) {
  const form = new FormData();
  form.set("file", new Blob([file.content]), file.filename);
  const body = new Response(form);
  const query = options.allowDuplicate === true ? "&allow_duplicate=true" : "";
  const answer = await app.inject({
    method: "POST",
    url: `/api/knowledge/files/upload?kb_id=${options.kbId ?? ""}${query}`,
    headers: {
      authorization: `Bearer ${options.token}`,
      "content-type": body.headers.get("content-type") ?? "",
    },
    payload: Buffer.from(await body.arrayBuffer()),
  });
  return { status: answer.statusCode, headers: answer.headers, body: JSON.parse(answer.body) };
}
