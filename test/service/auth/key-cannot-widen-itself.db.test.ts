import { expect, test } from "vitest";
import { call } from "../harness/app.ts";
import { PASSWORD } from "../harness/auth.ts";
import { appWithPeople } from "../harness/people.ts";
import type { Person } from "../harness/person.ts";
import { freshStorage } from "../harness/storage.ts";

test("a key of whatever role makes nothing that has more than it, or outlives it; what ends something it may", async () => {
  const storage = await freshStorage("postgres");
  const { app, auth, superadmin } = await appWithPeople(storage);
  const { userId } = superadmin.caller;
  const intent = { userId, name: "k", expiresAt: new Date(Date.now() + 3_600_000), source: "api" } as const;
  const made = await auth.keys.create(
    { caller: superadmin.caller, ip: null },
    { ...intent, requestId: "limited-key", quota: { runs_per_day: 1 } },
  );
  const key = { token: made.secret };
  const { user_code, device_code } = (await call(app, "POST", "/api/auth/cli/sessions", {})).body;
  const hook = { url: "https://hooks.example.org/x", events: ["run.completed"] };
  const webhook = (await call(app, "POST", "/api/webhooks", hook, superadmin)).body.webhook.id;
  const own = `/api/user/apikey/${made.api_key.id}`;
  const person = { username: "second-self", password: PASSWORD, role: "superadmin" };
  const wide = [
    ["POST", "/api/user/apikey", { request_id: "child-key-1", name: "child" }],
    ["PUT", own, { clear_expires_at: true }],
    ["PUT", own, { quota: {} }],
    ["PUT", own, { is_enabled: true }],
    ["POST", `/api/auth/cli/sessions/${user_code}/approve`, undefined],
    ["POST", `/api/auth/cli/sessions/${user_code}/deny`, undefined],
    ["POST", "/api/auth/users", person],
    ["PUT", `/api/auth/users/${userId}`, { password: "of the key's own" }],
    ["PUT", `/api/auth/users/${userId}`, { quota: {} }],
    ["POST", "/api/webhooks", hook],
    ["PUT", `/api/webhooks/${webhook}`, { rotate_secret: true }],
    // Nor does it end what it is none of: the logins.
    ["POST", "/api/auth/logout", undefined],
  ] as const;
  for (const [method, url, body] of wide) {
    const asKey = await call(app, method, url, body, key);
    expect([method, url, asKey.status, asKey.body.detail.code]).toEqual([method, url, 403, "login_required"]);
  }
  expect((await call(app, "POST", "/api/auth/cli/sessions/token", { device_code })).body.detail.code).toBe(
    "authorization_pending",
  );
  const shown = (await call(app, "GET", own, undefined, key)).body.api_key;
  expect(shown).toMatchObject({ expires_at: intent.expiresAt.toISOString(), quota: { runs_per_day: 1 } });
  const logIn = { username: person.username, password: PASSWORD };
  expect((await call(app, "POST", "/api/auth/token", logIn)).status).toBe(401);
  // By a login all of it is done.
  for (const [method, url, body] of wide.filter(([, path]) => !path.endsWith("/deny") && !path.includes("/users/"))) {
    expect([url, (await call(app, method, url, body, superadmin)).status]).toEqual([url, 200]);
  }
  const ends = async (as: Pick<Person, "token">) => (await call(app, "DELETE", own, undefined, as)).status;
  expect([await ends(key), await ends(key)]).toEqual([200, 401]);
});
