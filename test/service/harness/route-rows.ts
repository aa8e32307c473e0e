import { randomUUID } from "node:crypto";
import { json } from "../../../src/service/storage/storable.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { call } from "./app.ts";
import { makeDepartment, makeUser, PASSWORD } from "./auth.ts";
import { knowledgeRowsOf } from "./knowledge-rows.ts";
import {
  ADMINS,
  allRoles,
  known,
  knownByLogin,
  MAKER,
  MANAGED,
  MANAGERS,
  OF_ADMIN,
  OF_ADMIN_BY_LOGIN,
  own,
  OWN_OR_MANAGED,
  OWN_OR_MANAGED_BY_LOGIN,
  SUPERADMIN,
  TASK,
  type RouteRow,
  type World,
} from "./role-rows.ts";

/** The id of a thread that each user has one of. */
export const ME = "busy-thread";

/** A valid call of every route, and more than one where roles differ by what is called. One line per call, so it is long. */
export async function rowsOf(storage: Storage, world: World): Promise<readonly RouteRow[]> {
  const { app, auth, owner, admin, keyId } = world;
  const { token } = owner;
  const actor = { caller: owner.caller, ip: "127.0.0.1" };
  const ownerId = owner.caller.userId;
  const makeThread = async (): Promise<string> =>
    (await call(app, "POST", "/api/chat/thread", { agent_id: "cli-b" }, { token })).body.id;
  const thread = await makeThread();
  const submission = { agent_slug: "cli-b", thread_id: thread, query: "x", meta: { request_id: "request-0001" } };
  const run: string = (await call(app, "POST", "/api/agent/runs", submission, { token })).body.run_id;
  const makeKey = async (): Promise<number> => {
    const intent = { userId: ownerId, requestId: randomUUID(), name: "k", expiresAt: null, source: "api" } as const;
    return (await auth.keys.create(actor, intent)).api_key.id;
  };
  const makeTask = async (): Promise<string> => {
    const id = randomUUID();
    const values = { id, user_id: ownerId, kind: "count", name: "n", status: "success", payload: json({}) } as const;
    await storage.db.insertInto("task").values(values).execute();
    return id;
  };
  const url = "https://hooks.example.org/x";
  const makeWebhook = async (): Promise<string> => {
    const id = randomUUID();
    await storage.db
      .insertInto("webhook")
      .values({ id, user_id: ownerId, url, events: ["run.completed"] })
      .execute();
    return id;
  };
  const webhook = await makeWebhook();
  const agent = (more: object = {}) => ({ slug: `a-${randomUUID()}`, name: "n", executor: "cli-b", ...more });
  const makeAgent = async (more: object = {}): Promise<string> =>
    (await call(app, "POST", "/api/agents", agent(more), { token: admin.token })).body.agent.slug;
  const of = [admin.caller.userId];
  const scope = { access_level: "user", department_ids: [], user_uids: of };
  const share = { version: 2, read_scope: scope, manage_scope: null };
  const startLogin = async (): Promise<string> => (await auth.cliSessions.start("svc", "127.0.0.1")).userCode;
  const { departmentId } = owner.caller;
  const makeColleague = async (): Promise<number> => (await makeUser(storage, { departmentId })).caller.userId;
  const adminKey = await auth.keys.create(
    { caller: admin.caller, ip: "127.0.0.1" },
    { userId: admin.caller.userId, requestId: "key-of-admin", name: "k", expiresAt: null, source: "api" },
  );
  /** Who may not see an agent finds none, whatever is done with it. */
  const unseen: RouteRow["statuses"] = [401, 404, 404, 200, 404, 200, 404];

  const hidden = await makeAgent({ share_config: share });

  return [
    { route: "GET /", statuses: allRoles(200) },
    { route: "GET /api/system/health", statuses: allRoles(200) },
    { route: "GET /api/system/ready", statuses: allRoles(200) },
    { route: "GET /api/system/info", statuses: allRoles(200) },
    { route: "GET /metrics", statuses: allRoles(200) },
    { route: "GET /api/auth/check-first-run", statuses: allRoles(200) },
    {
      route: "POST /api/auth/initialize",
      statuses: allRoles(409),
      body: () => ({ username: "root", password: PASSWORD }),
    },
    {
      route: "POST /api/auth/token",
      statuses: allRoles(401),
      body: () => ({ username: "not-there", password: PASSWORD }),
    },
    { route: "GET /api/auth/me", statuses: known(200) },
    {
      route: "PUT /api/auth/me/password",
      statuses: known(401),
      body: () => ({ old_password: "not mine at all", new_password: PASSWORD }),
    },
    { route: "GET /api/auth/users", statuses: ADMINS },
    {
      route: "POST /api/auth/users",
      statuses: ADMINS,
      body: () => ({ username: `n${randomUUID()}`, password: PASSWORD }),
    },
    { route: "GET /api/auth/users/{user_id}", statuses: MANAGED, of: () => ownerId },
    {
      route: "PUT /api/auth/users/{user_id}",
      statuses: MANAGERS,
      of: () => ownerId,
      body: () => ({ display_name: "o" }),
    },
    ...(["admin", "superadmin"] as const).map((role): RouteRow => ({
      route: "POST /api/auth/users",
      statuses: SUPERADMIN,
      body: () => ({ username: `n${randomUUID()}`, password: PASSWORD, role, department_id: departmentId }),
    })),
    {
      route: "POST /api/auth/users",
      statuses: MANAGERS,
      body: () => ({ username: `n${randomUUID()}`, password: PASSWORD, department_id: departmentId }),
    },
    // Only a superadmin makes an admin of a user, gives a user away, or touches an admin of the own department.
    {
      route: "PUT /api/auth/users/{user_id}",
      statuses: SUPERADMIN,
      of: makeColleague,
      body: () => ({ role: "admin" }),
    },
    {
      route: "PUT /api/auth/users/{user_id}",
      statuses: SUPERADMIN,
      of: makeColleague,
      body: () => ({ department_id: null }),
    },
    {
      route: "PUT /api/auth/users/{user_id}",
      statuses: SUPERADMIN,
      of: async () => (await makeUser(storage, { departmentId, role: "admin" })).caller.userId,
      body: () => ({ quota: {} }),
    },
    {
      route: "DELETE /api/auth/users/{user_id}",
      statuses: SUPERADMIN,
      of: async () => (await makeUser(storage, { departmentId, role: "admin" })).caller.userId,
    },
    {
      route: "DELETE /api/auth/users/{user_id}",
      statuses: MANAGERS,
      of: makeColleague,
    },
    { route: "GET /api/departments", statuses: known(200) },
    { route: "POST /api/departments", statuses: SUPERADMIN, body: () => ({ name: randomUUID() }) },
    {
      route: "PUT /api/departments/{department_id}",
      statuses: SUPERADMIN,
      of: () => makeDepartment(storage),
      body: () => ({ name: randomUUID() }),
    },
    { route: "DELETE /api/departments/{department_id}", statuses: SUPERADMIN, of: () => makeDepartment(storage) },
    { route: "GET /api/audit", statuses: SUPERADMIN },
    { route: "GET /api/user/apikey", statuses: known(200) },
    {
      route: "POST /api/user/apikey",
      statuses: OWN_OR_MANAGED_BY_LOGIN,
      body: () => ({ request_id: randomUUID(), name: "k", user_id: ownerId }),
    },
    { route: "GET /api/user/apikey/{api_key_id}", statuses: OWN_OR_MANAGED, of: () => keyId },
    { route: "GET /api/user/apikey/{api_key_id}", statuses: known(404), of: () => 999_999 },
    // A key of an admin: the admin's own, and superadmins'.
    { route: "GET /api/user/apikey/{api_key_id}", statuses: OF_ADMIN, of: () => adminKey.api_key.id },
    {
      route: "POST /api/user/apikey",
      statuses: OF_ADMIN_BY_LOGIN,
      body: () => ({ request_id: randomUUID(), name: "k", user_id: admin.caller.userId }),
    },
    {
      route: "PUT /api/user/apikey/{api_key_id}",
      statuses: OWN_OR_MANAGED_BY_LOGIN,
      of: () => keyId,
      body: () => ({ name: "k" }),
    },
    { route: "DELETE /api/user/apikey/{api_key_id}", statuses: OWN_OR_MANAGED, of: makeKey },
    { route: "POST /api/auth/cli/sessions", statuses: allRoles(200), body: () => ({}) },
    {
      route: "POST /api/auth/cli/sessions/token",
      statuses: allRoles(400),
      body: () => ({ device_code: randomUUID() }),
    },
    { route: "GET /api/auth/cli/sessions/{user_code}", statuses: known(200), of: startLogin },
    { route: "POST /api/auth/cli/sessions/{user_code}/approve", statuses: knownByLogin(200), of: startLogin },
    { route: "POST /api/auth/cli/sessions/{user_code}/deny", statuses: knownByLogin(200), of: startLogin },
    { route: "GET /api/agents", statuses: known(200) },
    { route: "POST /api/agents", statuses: ADMINS, body: () => agent() },
    { route: "GET /api/agents/{slug}", statuses: known(200), of: () => "cli-b" },
    {
      route: "GET /api/agents/{slug}",
      statuses: unseen,
      of: () => hidden,
    },
    {
      route: "PUT /api/agents/{slug}",
      statuses: MAKER,
      of: () => makeAgent(),
      body: () => ({ revision: 1, name: "m" }),
    },
    { route: "DELETE /api/agents/{slug}", statuses: MAKER, of: () => makeAgent() },
    {
      route: "PUT /api/agents/{slug}",
      statuses: unseen,
      of: () => makeAgent({ share_config: share }),
      body: () => ({ revision: 1, name: "m" }),
    },
    { route: "DELETE /api/agents/{slug}", statuses: unseen, of: () => makeAgent({ share_config: share }) },
    { route: "POST /api/chat/thread", statuses: unseen, body: () => ({ agent_id: hidden }) },
    {
      route: "POST /api/agent-invocation/agent-call/runs",
      statuses: unseen,
      body: () => ({ agent_slug: hidden, messages: [{ role: "user", content: "x" }], async_mode: true }),
    },
    { route: "POST /api/chat/thread", statuses: known(200), body: () => ({ agent_id: "cli-b" }) },
    { route: "GET /api/chat/threads", statuses: known(200) },
    { route: "GET /api/chat/thread/{thread_id}", statuses: own(200), of: () => thread },
    {
      route: "PUT /api/chat/thread/{thread_id}",
      statuses: own(200),
      of: () => thread,
      body: () => ({ title: "t" }),
    },
    { route: "DELETE /api/chat/thread/{thread_id}", statuses: own(200), of: makeThread },
    { route: "GET /api/chat/thread/{thread_id}/history", statuses: own(200), of: () => thread },
    { route: "GET /api/chat/thread/{thread_id}/state", statuses: own(200), of: () => thread },
    { route: "GET /api/agent/thread/{thread_id}/requests", statuses: own(200), of: () => thread },
    { route: "GET /api/agent/thread/{thread_id}/active_run", statuses: own(200), of: () => thread },
    { route: "POST /api/agent/thread/{thread_id}/requests/continue", statuses: own(409), of: () => thread },
    { route: "POST /api/agent/runs", statuses: own(200), body: () => submission },
    { route: "GET /api/agent/runs", statuses: known(200) },
    { route: "GET /api/agent/runs", statuses: own(200), query: `?thread_id=${thread}` },
    { route: "GET /api/agent/runs/{run_id}", statuses: own(200), of: () => run },
    { route: "GET /api/agent/runs/{run_id}/result", statuses: own(200), of: () => run },
    { route: "GET /api/agent/runs/{run_id}/events", statuses: own(200), of: () => run, query: "?format=json" },
    { route: "GET /api/agent/requests/{request_id}", statuses: own(200), of: () => "request-0001" },
    { route: "GET /api/agent/requests/{request_id}/events", statuses: own(200), of: () => "request-0001" },
    { route: "POST /api/agent/requests/{request_id}/steer", statuses: own(409), of: () => "request-0001" },
    { route: "POST /api/agent/requests/{request_id}/cancel", statuses: own(409), of: () => "request-0001" },
    // The id of a thread is each user's own: all of them have this one.
    {
      route: "POST /api/agent-invocation/agent-call/runs",
      statuses: known(200),
      body: () => ({
        agent_slug: "cli-b",
        messages: [{ role: "user", content: "x" }],
        thread_id: ME,
        async_mode: true,
      }),
    },
    {
      route: "POST /api/agent-invocation/eval/runs",
      statuses: known(200),
      body: () => ({ agent_slug: "cli-b", query: "x", thread_id: ME }),
    },
    {
      route: "POST /api/agent-invocation/agent-call/runs/result",
      statuses: own(200),
      body: () => ({ run_id: run }),
    },
    { route: "POST /api/agent/runs/{run_id}/cancel", statuses: own(200), of: () => run },
    { route: "GET /api/tasks", statuses: known(200) },
    { route: "GET /api/tasks/{task_id}", statuses: TASK, of: makeTask },
    { route: "POST /api/tasks/{task_id}/cancel", statuses: TASK, of: makeTask },
    { route: "DELETE /api/tasks/{task_id}", statuses: TASK, of: makeTask },
    { route: "GET /api/webhooks", statuses: known(200) },
    { route: "POST /api/webhooks", statuses: knownByLogin(200), body: () => ({ url, events: ["run.completed"] }) },
    { route: "GET /api/webhooks/{webhook_id}", statuses: own(200), of: () => webhook },
    { route: "GET /api/webhooks/{webhook_id}/deliveries", statuses: own(200), of: () => webhook },
    {
      route: "PUT /api/webhooks/{webhook_id}",
      statuses: [401, 200, 404, 404, 404, 404, 403],
      of: () => webhook,
      body: () => ({ is_enabled: false }),
    },
    { route: "DELETE /api/webhooks/{webhook_id}", statuses: own(200), of: makeWebhook },
    { route: "GET /api/usage", statuses: known(200) },
    { route: "GET /api/usage", statuses: OWN_OR_MANAGED, query: `?user_id=${ownerId}` },
    ...(await knowledgeRowsOf(storage, world)),
    // Last: it ends all tokens.
    { route: "POST /api/auth/logout", statuses: knownByLogin(200) },
  ];
}
