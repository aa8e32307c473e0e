import { expect, test } from "vitest";
import type { Caller } from "../../../src/service/auth/caller.ts";
import { json } from "../../../src/service/storage/storable.ts";
import { makeDepartment, testAuth } from "../harness/auth.ts";
import { call, testApp } from "../harness/app.ts";
import { makePerson, testKnowledge, uploadFile } from "../harness/knowledge.ts";
import type { Person } from "../harness/person.ts";
import { freshStorage } from "../harness/storage.ts";

// Built from the rules in words, not from the code under test.
type Level = "global" | "department" | "user";
type Method = "GET" | "POST" | "PUT" | "DELETE";

/** Who asks, beside the creator. `match` is whether scopes of departments and users name them. */
const PEOPLE = [
  { role: "superadmin", match: false },
  { role: "admin", match: true },
  { role: "admin", match: false },
  { role: "user", match: true },
  { role: "user", match: false },
] as const satisfies readonly { role: Caller["role"]; match: boolean }[];

const SCOPES: readonly { read: Level; manage: Level | null }[] = [
  { read: "global", manage: null },
  { read: "global", manage: "global" },
  { read: "global", manage: "department" },
  { read: "global", manage: "user" },
  { read: "department", manage: null },
  { read: "department", manage: "department" },
  { read: "user", manage: null },
  { read: "user", manage: "user" },
];

/** What a route needs; with nothing sent that would pass its own checks, so that one who may is refused by those. */
const ROUTES: readonly { method: Method; path: string; needs: "read" | "manage" | "upload"; body?: object }[] = [
  { method: "GET", path: "/KB", needs: "manage" },
  { method: "PUT", path: "/KB", needs: "manage", body: {} },
  { method: "POST", path: "/KB/documents/add", needs: "manage", body: {} },
  { method: "POST", path: "/KB/documents", needs: "manage", body: {} },
  { method: "POST", path: "/KB/documents/parse", needs: "manage", body: {} },
  { method: "POST", path: "/KB/documents/index", needs: "manage", body: {} },
  { method: "POST", path: "/KB/documents/parse-pending", needs: "manage", body: { wrong: 1 } },
  { method: "POST", path: "/KB/documents/index-pending", needs: "manage", body: { wrong: 1 } },
  { method: "GET", path: "/KB/documents", needs: "manage" },
  { method: "GET", path: "/KB/documents/file_0", needs: "manage" },
  { method: "GET", path: "/KB/documents/file_0/content", needs: "manage" },
  { method: "GET", path: "/KB/documents/file_0/download", needs: "manage" },
  { method: "GET", path: "/KB/documents/file_0/chunks", needs: "manage" },
  { method: "DELETE", path: "/KB/documents/file_0", needs: "manage" },
  { method: "POST", path: "/KB/documents/delete", needs: "manage", body: {} },
  { method: "POST", path: "/api/knowledge/files/upload?kb_id=KB", needs: "upload" },
  { method: "POST", path: "/api/knowledge/files/fetch-url", needs: "upload", body: { kb_id: "KB", url: "x:" } },
  { method: "GET", path: "/external/KB/files", needs: "read" },
  { method: "POST", path: "/external/KB/retrieve", needs: "read", body: {} },
  { method: "GET", path: "/external/KB/files/file_0/open", needs: "read" },
  { method: "POST", path: "/external/KB/files/file_0/find", needs: "read", body: {} },
];

const BASE = "/api/knowledge/databases";

function isNamed(level: Level | null, { match }: { match: boolean }): boolean {
  return level === "global" || (level !== null && match);
}

/** The body with the knowledge base that it names. */
function inBase(body: object, kbId: string): object {
  return JSON.parse(JSON.stringify(body).replace('"KB"', JSON.stringify(kbId)));
}

/** The refusal by permission, or undefined for one who may. */
function refusalOf(
  person: { role: Caller["role"]; match: boolean; isCreator: boolean },
  scopes: (typeof SCOPES)[number],
  needs: (typeof ROUTES)[number]["needs"],
): string | undefined {
  const { role, isCreator } = person;
  const isAbove = isCreator || role === "superadmin";
  if (!isAbove && !isNamed(scopes.read, person)) return "kb_not_found";
  if (needs === "read") return undefined;
  if (!isAbove && !(role === "admin" && isNamed(scopes.manage, person))) return "manage_required";
  return needs === "upload" && role === "user" ? "role_required" : undefined;
}

// A thousand calls and more: on a loaded machine they take a while.
test(
  "every route answers every role under every scope by the table of access, before it looks at the body",
  { timeout: 300_000 },
  async () => {
    const storage = await freshStorage("postgres");
    const { knowledge } = await testKnowledge(storage);
    const app = await testApp(storage, { auth: testAuth(storage), knowledge });
    const [department, elsewhere] = [await makeDepartment(storage), await makeDepartment(storage)];
    const people: (Person & { role: Caller["role"]; match: boolean })[] = [];
    for (const { role, match } of PEOPLE)
      people.push({ ...(await makePerson(storage, role, match ? department : elsewhere)), role, match });
    // A creator who is a plain user now: they manage what they made, and upload no more.
    const creators = [await makePerson(storage, "admin"), await makePerson(storage, "admin")];
    await storage.db
      .updateTable("account")
      .set({ role: "user" })
      .where("id", "=", creators[1]?.caller.userId ?? 0)
      .execute();
    const named = people.flatMap(({ caller, match }) => (match ? [caller.userId] : []));
    const scopeOf = (level: Level) => ({
      access_level: level,
      department_ids: level === "department" ? [department] : [],
      user_uids: level === "user" ? named : [],
    });
    const answered: string[] = [];
    const expected: string[] = [];
    for (const [number, scopes] of SCOPES.entries()) {
      const share = {
        version: 2,
        read_scope: scopeOf(scopes.read),
        manage_scope: scopes.manage === null ? null : scopeOf(scopes.manage),
      };
      for (const [which, creator] of creators.entries()) {
        const role = which === 0 ? ("admin" as const) : ("user" as const);
        const { caller } = creator;
        const { kb_id: kbId } = await knowledge.bases.create(
          { caller: { ...caller, role: "admin" }, ip: null },
          { name: `kb ${number}`, kb_type: "local", share_config: share as never },
        );
        const all = [
          ...(which === 0 ? people : []).map((person) => ({ ...person, isCreator: false })),
          { ...creator, role, match: false, isCreator: true },
        ];
        for (const person of all) {
          for (const { method, path, needs, body } of ROUTES) {
            const url = path.startsWith("/api") ? path.replace("KB", kbId) : `${BASE}${path.replace("KB", kbId)}`;
            const { status, body: answer } = await call(
              app,
              method,
              url,
              body === undefined ? undefined : inBase(body, kbId),
              person,
            );
            const refused = [403, 404].includes(status) ? String(answer.detail.code) : undefined;
            // A file that is not there, to one who may ask.
            const code = refused === "file_not_found" || refused === "url_fetch_disabled" ? undefined : refused;
            const line = `${scopes.read}/${scopes.manage} ${person.role} match=${person.match} creator=${person.isCreator} ${method} ${path}`;
            answered.push(`${line}: ${code}`);
            expected.push(`${line}: ${refusalOf(person, scopes, needs)}`);
          }
          const { body: readable } = await call(app, "GET", `${BASE}/external?limit=500`, undefined, person);
          const mayRead = readable.databases.some((base: { kb_id: string }) => base.kb_id === kbId);
          answered.push(`listed ${mayRead}`);
          expected.push(`listed ${refusalOf(person, scopes, "read") === undefined}`);
          const { body: managed } = await call(app, "GET", `${BASE}?limit=500`, undefined, person);
          const mayManage = managed.databases.some((base: { kb_id: string }) => base.kb_id === kbId);
          answered.push(`managed ${mayManage}`);
          expected.push(`managed ${refusalOf(person, scopes, "manage") === undefined}`);
        }
      }
    }
    expect(answered).toEqual(expected);
    expect(answered.length).toBeGreaterThan(1_000);
    await app.close();
  },
);

test("only admins make knowledge bases, no query works without a token, and deletion needs managing", async () => {
  const storage = await freshStorage("postgres");
  const { knowledge } = await testKnowledge(storage);
  const app = await testApp(storage, { auth: testAuth(storage), knowledge });
  const [user, admin, other] = [
    await makePerson(storage, "user"),
    await makePerson(storage, "admin"),
    await makePerson(storage, "admin"),
  ];
  expect((await call(app, "POST", BASE, { wrong: true }, user)).body.detail.code).toBe("role_required");
  const made = await call(app, "POST", BASE, { name: "a" }, admin);
  expect(made.status).toBe(200);
  expect(await call(app, "POST", BASE, { name: "A" }, admin)).toMatchObject({
    status: 409,
    body: { detail: { code: "kb_name_taken" } },
  });
  expect((await call(app, "POST", BASE, { name: "A" }, other)).status).toBe(200);
  const url = `${BASE}/${made.body.database.kb_id}`;
  expect((await call(app, "DELETE", url, undefined, other)).body.detail.code).toBe("manage_required");
  for (const { method, path, body } of ROUTES)
    expect((await call(app, method, path.startsWith("/api") ? path : `${BASE}${path}`, body)).status).toBe(401);
  expect((await call(app, "DELETE", url, undefined, admin)).body).toMatchObject({ success: true });
  expect((await call(app, "GET", url, undefined, admin)).body.detail.code).toBe("kb_not_found");
  expect((await call(app, "POST", BASE, { name: "a" }, admin)).status).toBe(200);
  await app.close();
});

test("a knowledge base whose content is elsewhere only answers queries, and its files are refused after permission", async () => {
  const storage = await freshStorage("postgres");
  const { knowledge } = await testKnowledge(storage);
  const app = await testApp(storage, { auth: testAuth(storage), knowledge });
  const [admin, outsider] = [await makePerson(storage, "admin"), await makePerson(storage, "user")];
  expect((await call(app, "POST", BASE, { name: "r", kb_type: "dify" }, admin)).body.detail.code).toBe(
    "connector_invalid",
  );
  const share = {
    version: 2,
    read_scope: { access_level: "user", department_ids: [], user_uids: [admin.caller.userId] },
    manage_scope: null,
  };
  await storage.db
    .insertInto("knowledge_base")
    .values({
      id: "kb_remote",
      name: "r",
      kb_type: "dify",
      share_config: json(share),
      created_by: admin.caller.userId,
    })
    .execute();
  for (const { method, path, needs, body: own } of ROUTES) {
    const sent = { ...inBase(own ?? {}, "kb_remote"), wrong: 1 };
    if (path === "/KB" || path.endsWith("/retrieve")) continue;
    const url = `${path.startsWith("/api") ? "" : BASE}${path.replace("KB", "kb_remote")}`;
    expect((await call(app, method, url, sent, outsider)).body.detail.code).toBe("kb_not_found");
    const { status, body } = await call(app, method, url, method === "GET" ? undefined : sent, admin);
    expect([status, body.detail.code, body.detail.kb_type, needs]).toEqual([400, "retrieval_only", "dify", needs]);
  }
  expect(
    (await uploadFile(app, { filename: "a.md", content: "x" }, { kbId: "kb_remote", token: admin.token })).status,
  ).toBe(400);
  await app.close();
});
