import { expect, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import { json } from "../../../src/service/storage/storable.ts";
import { call } from "../harness/app.ts";
import { makeUser, PASSWORD } from "../harness/auth.ts";
import { appWithPeople } from "../harness/people.ts";
import type { Person } from "../harness/person.ts";
import { freshStorage } from "../harness/storage.ts";

const NEW_PASSWORD = "another correct horse";

/** An action of a user, and its entry in the audit. */
interface AuditedAction {
  readonly by: Pick<Person, "token"> | undefined;
  readonly call: readonly ["POST" | "PUT" | "DELETE", string, object?];
  readonly before?: () => Promise<unknown>;
  /** Where the answer is none of success. */
  readonly status?: number;
  readonly action: string;
  /** From the answer, where it names what was made. */
  readonly subject: string | ((body: ReturnType<typeof JSON.parse>) => string);
  readonly details?: object;
}

/** Every deed of the design's list, in an order in which each can be done. One line each, so it is long. */
async function prepare() {
  const storage = await freshStorage("postgres");
  await putAgents(storage, await readAgentsFile(undefined));
  const world = await appWithPeople(storage);
  const { app, auth, owner, superadmin, admin, key, keyId } = world;
  const made = await call(app, "POST", "/api/auth/users", { username: "anna", password: PASSWORD }, superadmin);
  const userId: number = made.body.user.id;
  const logIn = { username: "anna", password: PASSWORD };
  const { body: anna } = await call(app, "POST", "/api/auth/token", logIn);
  const gone = (await makeUser(storage)).caller.userId;
  const department = (await call(app, "POST", "/api/departments", { name: "first" }, superadmin)).body.department.id;
  const webhook = { url: "https://hooks.example.org/x", events: ["run.failed"] };
  const { body: hook } = await call(app, "POST", "/api/webhooks", webhook, owner);
  const agent = { slug: "mine", name: "n", executor: "cli-b" };
  const login = await auth.cliSessions.start("svc", "127.0.0.1");
  const denied = await auth.cliSessions.start("svc", "127.0.0.1");
  const taskId = crypto.randomUUID();
  const task = { id: taskId, user_id: owner.caller.userId, kind: "count", name: "n", status: "pending" } as const;
  await storage.db
    .insertInto("task")
    .values({ ...task, payload: json({}) })
    .execute();
  const { body: base } = await call(app, "POST", "/api/knowledge/databases", { name: "kb" }, admin);
  const kbPath = `/api/knowledge/databases/${base.database.kb_id}`;
  const { body: thread } = await call(app, "POST", "/api/chat/thread", { agent_id: "cli-b" }, owner);
  const scope = { access_level: "department", department_ids: [department], user_uids: [] };
  const share_config = { version: 2, read_scope: scope, manage_scope: null };
  const keyBody = { request_id: "create-key-0001", name: "k" };

  const lockOut = (failures: number) =>
    storage.db
      .insertInto("login_failure")
      .values({ bucket: "ip:127.0.0.1", failures, window_ends_at: new Date(Date.now() + 600_000) })
      .onConflict((conflict) => conflict.column("bucket").doUpdateSet({ failures }))
      .execute();

  const actions: AuditedAction[] = [
    { by: undefined, call: ["POST", "/api/auth/token", logIn], action: "login.succeeded", subject: `user:${userId}` },
    {
      by: undefined,
      call: ["POST", "/api/auth/token", { ...logIn, password: NEW_PASSWORD }],
      status: 401,
      action: "login.refused",
      subject: `user:${userId}`,
    },
    {
      by: undefined,
      call: ["POST", "/api/auth/token", { username: NEW_PASSWORD, password: NEW_PASSWORD }],
      status: 401,
      action: "login.refused",
      subject: "login",
    },
    {
      by: undefined,
      before: () => lockOut(10_000),
      call: ["POST", "/api/auth/token", logIn],
      status: 423,
      action: "login.locked",
      subject: "login",
    },
    {
      by: { token: anna.access_token },
      before: () => lockOut(0),
      call: ["PUT", "/api/auth/me/password", { old_password: PASSWORD, new_password: NEW_PASSWORD }],
      action: "password.changed",
      subject: `user:${userId}`,
    },
    {
      by: superadmin,
      call: ["PUT", `/api/auth/users/${userId}`, { password: PASSWORD, role: "admin", is_enabled: true }],
      action: "user.updated",
      subject: `user:${userId}`,
      details: { changes: ["password", "role", "is_enabled"], role: "admin", is_enabled: true },
    },
    {
      by: superadmin,
      call: ["POST", "/api/auth/users", { username: "bert", password: PASSWORD, department_id: department }],
      action: "user.created",
      subject: (body) => `user:${body.user.id}`,
      details: { role: "user", department_id: department },
    },
    { by: superadmin, call: ["DELETE", `/api/auth/users/${gone}`], action: "user.deleted", subject: `user:${gone}` },
    {
      by: superadmin,
      call: ["POST", "/api/departments", { name: "second" }],
      action: "department.created",
      subject: (body) => `department:${body.department.id}`,
      details: { name: "second" },
    },
    {
      by: superadmin,
      call: ["PUT", `/api/departments/${department}`, { name: "third" }],
      action: "department.updated",
      subject: `department:${department}`,
      details: { name: "third" },
    },
    {
      by: owner,
      call: ["POST", "/api/user/apikey/", keyBody],
      action: "key.created",
      subject: (body) => `api_key:${body.api_key.id}`,
    },
    {
      by: owner,
      call: ["PUT", `/api/user/apikey/${keyId}`, { name: "renamed" }],
      action: "key.updated",
      subject: `api_key:${keyId}`,
      details: { changes: ["name"] },
    },
    {
      by: admin,
      call: ["POST", "/api/agents", { ...agent, share_config }],
      action: "agent.created",
      subject: "agent:mine",
      details: { share_config },
    },
    {
      by: admin,
      call: ["PUT", "/api/agents/mine", { revision: 1, share_config }],
      action: "agent.updated",
      subject: "agent:mine",
      details: { changes: ["share_config"], share_config },
    },
    { by: superadmin, call: ["DELETE", "/api/agents/mine"], action: "agent.deleted", subject: "agent:mine" },
    {
      by: admin,
      call: ["POST", "/api/knowledge/databases", { name: "other", share_config }],
      action: "knowledge_base.created",
      subject: (body) => `knowledge_base:${body.database.kb_id}`,
      details: { share_config },
    },
    {
      by: admin,
      call: ["PUT", kbPath, { revision: 1, share_config }],
      action: "knowledge_base.updated",
      subject: `knowledge_base:${base.database.kb_id}`,
      details: { changes: ["share_config"], share_config },
    },
    {
      by: admin,
      call: ["DELETE", kbPath],
      action: "knowledge_base.deleted",
      subject: `knowledge_base:${base.database.kb_id}`,
    },
    {
      by: owner,
      call: ["POST", "/api/webhooks", webhook],
      action: "webhook.created",
      subject: (body) => `webhook:${body.webhook.id}`,
    },
    {
      by: owner,
      call: ["PUT", `/api/webhooks/${hook.webhook.id}`, { rotate_secret: true }],
      action: "webhook.updated",
      subject: `webhook:${hook.webhook.id}`,
    },
    {
      by: owner,
      call: ["DELETE", `/api/webhooks/${hook.webhook.id}`],
      action: "webhook.deleted",
      subject: `webhook:${hook.webhook.id}`,
    },
    {
      by: owner,
      call: ["POST", `/api/auth/cli/sessions/${login.userCode}/approve`],
      action: "cli_session.approved",
      subject: `user:${owner.caller.userId}`,
    },
    {
      by: owner,
      call: ["POST", `/api/auth/cli/sessions/${denied.userCode}/deny`],
      action: "cli_session.denied",
      subject: `user:${owner.caller.userId}`,
    },
    {
      by: superadmin,
      call: ["POST", `/api/tasks/${taskId}/cancel`],
      action: "task.cancelled",
      subject: `task:${taskId}`,
    },
    {
      by: owner,
      call: ["DELETE", `/api/chat/thread/${thread.id}`],
      action: "thread.deleted",
      subject: `thread:${thread.id}`,
    },
    { by: key, call: ["DELETE", `/api/user/apikey/${keyId}`], action: "key.revoked", subject: `api_key:${keyId}` },
    { by: owner, call: ["POST", "/api/auth/logout"], action: "logout", subject: `user:${owner.caller.userId}` },
  ];
  const secrets = [PASSWORD, NEW_PASSWORD, anna.access_token, hook.secret, key.token, login.deviceCode];
  return { ...world, actions, secrets };
}

test("each action is in the audit, once: who did it, with what, to what, and no secret", async () => {
  const { app, actions, secrets, makePerson } = await prepare();
  const reader = await makePerson("superadmin");
  const read = async (query: string) => (await call(app, "GET", `/api/audit?${query}`, undefined, reader)).body.entries;
  let { id: last } = (await read("limit=1"))[0];
  const found = [];
  const expected = [];
  for (const {
    by,
    before,
    call: [method, path, body],
    status = 200,
    action,
    subject,
    details = expect.any(Object),
  } of actions) {
    await before?.();
    const me = by === undefined ? undefined : (await call(app, "GET", "/api/auth/me", undefined, by)).body;
    const answer = await call(app, method, path, body, by);
    const entries = (await read("limit=5")).filter(({ id }: { id: number }) => id > last);
    last = entries[0]?.id ?? last;
    for (const secret of [answer.body.secret, answer.body.access_token]) if (secret !== undefined) secrets.push(secret);
    found.push([action, answer.status, entries]);
    const { credential } = me ?? {};
    const isKey = credential?.type === "api_key";
    const entry = {
      id: expect.any(Number),
      at: expect.any(String),
      ip: "127.0.0.1",
      actor_id: me?.user.id ?? null,
      credential: credential === undefined ? "none" : isKey ? `api_key:${credential.api_key_id}` : credential.type,
      action,
      subject: typeof subject === "string" ? subject : subject(answer.body),
      details,
    };
    expected.push([action, status, [entry]]);
  }
  expect(found).toEqual(expected);
  const all = JSON.stringify(await read("limit=500"));
  expect(secrets.length).toBeGreaterThan(8);
  expect(secrets.filter((secret) => all.includes(secret))).toEqual([]);
  const [{ id: oldest }] = (await read("subject=agent:mine")).slice(-1);
  expect((await read(`subject=agent:mine&before=${oldest}`)).length).toBe(0);
  expect(await read("subject=agent:mine")).toHaveLength(3);
});

test("what is refused has no entry, but for a wrong password, which may be an attack", async () => {
  const { app, owner, superadmin, makePerson } = await prepare();
  const reader = await makePerson("superadmin");
  const read = async () => (await call(app, "GET", "/api/audit?limit=500", undefined, reader)).body.entries;
  const before = await read();
  const refused = [
    await call(app, "POST", "/api/auth/users", { username: "carl", password: PASSWORD }, owner),
    await call(app, "POST", "/api/auth/users", { username: "anna", password: PASSWORD }, superadmin),
    await call(app, "PUT", "/api/agents/cli-b", { revision: 9 }, superadmin),
    await call(app, "DELETE", "/api/agents/cli-b", undefined, superadmin),
    await call(app, "DELETE", "/api/user/apikey/999", undefined, owner),
    await call(app, "PUT", "/api/auth/me/password", { old_password: "x", new_password: NEW_PASSWORD }, owner),
  ];
  expect(refused.map(({ status }) => status)).toEqual([403, 409, 409, 409, 404, 401]);
  const [last, ...earlier] = await read();
  expect(last).toMatchObject({ action: "password.refused", credential: "jwt" });
  expect(earlier).toEqual(before);
});
