import { expect, test } from "vitest";
import { PASSWORD } from "../../harness/auth.ts";
import { call, testApp } from "../../harness/app.ts";
import { freshStorage } from "../../harness/storage.ts";

test("a person initialises, logs in, makes a key twice and calls with it", async () => {
  const app = await testApp(await freshStorage("postgres"));
  expect((await call(app, "GET", "/api/auth/check-first-run")).body).toEqual({ first_run: true });
  const first = await call(app, "POST", "/api/auth/initialize", { username: "Root", password: PASSWORD });
  expect(first).toMatchObject({
    status: 200,
    body: { token_type: "bearer", user: { username: "root", role: "superadmin", quota: {} } },
  });
  expect(
    (await call(app, "POST", "/api/auth/initialize", { username: "b2", password: PASSWORD })).body.detail.code,
  ).toBe("already_initialized");
  const form = await app.inject({
    method: "POST",
    url: "/api/auth/token/",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    payload: `grant_type=password&username=root&password=${encodeURIComponent(PASSWORD)}&scope=`,
  });
  const token = form.json().access_token;
  expect((await call(app, "GET", "/api/auth/me", undefined, { token })).body).toMatchObject({
    credential: { type: "jwt" },
  });
  const wanted = { request_id: "create-key-0001", name: "ci" };
  const made = await call(app, "POST", "/api/user/apikey/", wanted, { token });
  expect(made).toMatchObject({
    status: 200,
    body: {
      api_key: { name: "ci", user_id: first.body.user.id, is_enabled: true, expires_at: null, last_used_at: null },
    },
  });
  expect(made.body.secret).toMatch(/^svkey_[0-9a-f]{48}$/);
  expect(
    (
      await call(
        app,
        "POST",
        "/api/user/apikey",
        { name: "ci" },
        { token, headers: { "idempotency-key": "create-key-0001" } },
      )
    ).body,
  ).toEqual(made.body);
  expect((await call(app, "POST", "/api/user/apikey/", { ...wanted, name: "other" }, { token })).body.detail.code).toBe(
    "intent_conflict",
  );
  const { secret } = made.body;
  const { id } = made.body.api_key;
  expect((await call(app, "GET", "/api/auth/me", undefined, { token: secret })).body.credential).toEqual({
    type: "api_key",
    api_key_id: id,
  });
  const list = await call(app, "GET", "/api/user/apikey/", undefined, { token: secret });
  expect(list.body).toMatchObject({ total: 1, api_keys: [{ id, last_used_at: expect.any(String) }] });
  expect(JSON.stringify(list.body)).not.toContain(secret);
  expect(
    (await call(app, "PUT", `/api/user/apikey/${id}`, { is_enabled: false }, { token })).body.api_key.is_enabled,
  ).toBe(false);
  expect(await call(app, "GET", "/api/auth/me", undefined, { token: secret })).toMatchObject({
    status: 401,
    headers: { "www-authenticate": "Bearer" },
  });
  expect((await call(app, "DELETE", `/api/user/apikey/${id}`, undefined, { token })).body).toEqual({ success: true });
  expect((await call(app, "POST", "/api/user/apikey/", wanted, { token })).body.detail.code).toBe("key_revoked");
  const audit = await call(app, "GET", "/api/audit", undefined, { token });
  expect(audit.body.entries.map(({ action }: { action: string }) => action)).toEqual([
    "key.revoked",
    "key.updated",
    "key.created",
    "login.succeeded",
    "user.created",
  ]);
  expect(JSON.stringify(audit.body)).not.toContain(secret.slice(12));
});

test("a login of a command-line client is approved and exchanged", async () => {
  const app = await testApp(await freshStorage("postgres"));
  const { body } = await call(app, "POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
  const token = body.access_token;
  const started = await call(app, "POST", "/api/auth/cli/sessions", { client_name: "svc" });
  expect(started.body).toMatchObject({ expires_in: 600, interval: 2, verification_uri: "http://localhost:5050/cli" });
  const { device_code, user_code } = started.body;
  expect((await call(app, "POST", "/api/auth/cli/sessions/token", { device_code })).body.detail.code).toBe(
    "authorization_pending",
  );
  expect((await call(app, "GET", `/api/auth/cli/sessions/${user_code}`, undefined, { token })).body.state).toBe(
    "pending",
  );
  expect(
    (await call(app, "POST", `/api/auth/cli/sessions/${user_code}/approve`, undefined, { token })).body.state,
  ).toBe("approved");
  expect((await call(app, "POST", "/api/auth/cli/sessions/token", { device_code })).body.secret).toMatch(/^svkey_/);
});

test("keys and tokens of a user who is deleted, or disabled, are refused from that answer on", async () => {
  const app = await testApp(await freshStorage("postgres"));
  const root = await call(app, "POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
  const as = { token: root.body.access_token };
  const person = { username: "anna", password: PASSWORD };
  const { body: made } = await call(app, "POST", "/api/auth/users", person, as);
  const path = `/api/auth/users/${made.user.id}`;
  const { body: login } = await call(app, "POST", "/api/auth/token", person);
  const wanted = { request_id: "create-key-0001", name: "ci" };
  const key = await call(app, "POST", "/api/user/apikey/", wanted, { token: login.access_token });
  const statuses = () =>
    Promise.all(
      [key.body.secret, login.access_token].map(
        async (token) => (await call(app, "GET", "/api/chat/threads", undefined, { token })).status,
      ),
    );
  expect(await statuses()).toEqual([200, 200]);
  await call(app, "PUT", path, { is_enabled: false }, as);
  expect(await statuses()).toEqual([401, 401]);
  await call(app, "PUT", path, { is_enabled: true }, as);
  // The token ended with the account's disabling; the key is a standing one.
  expect(await statuses()).toEqual([200, 401]);
  expect((await call(app, "DELETE", path, undefined, as)).status).toBe(200);
  expect(await statuses()).toEqual([401, 401]);
  expect((await call(app, "POST", "/api/user/apikey/", wanted, { token: key.body.secret })).status).toBe(401);
  // Another account of the name is another user.
  await call(app, "POST", "/api/auth/users", person, as);
  expect(await statuses()).toEqual([401, 401]);
});

test("a wrong login is 401, a locked one 423 with the seconds left", async () => {
  const storage = await freshStorage("postgres");
  const app = await testApp(storage);
  await call(app, "POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
  const wrong = () => call(app, "POST", "/api/auth/token", { username: "root", password: "wrong wrong" });
  expect((await wrong()).body.detail.code).toBe("invalid_credentials");
  await storage.db.updateTable("login_failure").set({ failures: 10 }).execute();
  const locked = await wrong();
  expect(locked).toMatchObject({ status: 423, body: { detail: { code: "login_locked" } } });
  expect(Number(locked.headers["x-lock-remaining"])).toBeGreaterThan(500);
  expect(locked.headers["retry-after"]).toBe(locked.headers["x-lock-remaining"]);
});

test("what does not validate names its field; strange text, depth and hosts are refused", async () => {
  const app = await testApp(await freshStorage("postgres"));
  const { body } = await call(app, "POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
  const token = body.access_token;
  const post = (payload: unknown) => call(app, "POST", "/api/user/apikey/", payload, { token });
  expect(await post({ request_id: "create-key-0001" })).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body", "name"] }] },
  });
  expect((await post({ request_id: "short", name: "x" })).body.detail[0].loc).toEqual(["body", "request_id"]);
  expect((await post({ request_id: "create-key-0001", name: "x", hue: 1 })).body.detail[0]).toEqual({
    loc: ["body", "hue"],
    msg: "unknown field",
    type: "unknown_field",
  });
  expect((await post({ request_id: "create-key-0001", name: "a\0b" })).body.detail[0].type).toBe("unstorable_text");
  expect((await post({ name: "a" })).body.detail[0].loc).toEqual(["body", "request_id"]);
  expect((await call(app, "GET", "/api/user/apikey/?limit=501", undefined, { token })).body.detail[0].loc).toEqual([
    "query",
    "limit",
  ]);
  expect((await call(app, "GET", "/api/user/apikey/x", undefined, { token })).status).toBe(422);
  expect(
    (
      await app.inject({
        method: "POST",
        url: "/api/user/apikey",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        payload: "{",
      })
    ).json().detail.code,
  ).toBe("invalid_json");
  expect(
    (await call(app, "GET", "/api/auth/me", undefined, { token, headers: { host: "evil.example" } })).body.detail.code,
  ).toBe("forbidden_host");
  expect(
    (await call(app, "GET", "/api/auth/me", undefined, { token, headers: { origin: "http://evil.example" } })).body
      .detail.code,
  ).toBe("forbidden_origin");
  const page = await call(app, "GET", "/api/auth/me", undefined, {
    token,
    headers: { origin: "http://localhost:5173" },
  });
  expect(page).toMatchObject({ status: 200, headers: { "access-control-allow-origin": "http://localhost:5173" } });
  const preflight = await app.inject({
    method: "OPTIONS",
    url: "/api/agents/cli-b",
    headers: { origin: "http://localhost:5173", "access-control-request-method": "PUT" },
  });
  expect([preflight.statusCode, preflight.headers["access-control-allow-methods"]]).toEqual([
    204,
    "GET, POST, PUT, DELETE",
  ]);
  expect((await app.inject({ method: "OPTIONS", url: "/api/agents" })).statusCode).toBe(204);
  expect(await call(app, "GET", "/api/nothing", undefined, { token })).toMatchObject({
    status: 404,
    body: { detail: { code: "route_not_found" } },
  });
  expect(await call(app, "DELETE", "/api/auth/me", undefined, { token })).toMatchObject({
    status: 404,
    headers: { allow: "GET" },
  });
});

test("calls are limited for each credential, and guesses for each address", async () => {
  const app = await testApp(await freshStorage("postgres"), { ratePerCredential: 3, ratePerAddress: 4 });
  const { body } = await call(app, "POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
  const statuses = async (token: string, times: number) => {
    const answers = [];
    for (let time = 0; time < times; time += 1)
      answers.push((await call(app, "GET", "/api/auth/me", undefined, { token })).status);
    return answers;
  };
  expect(await statuses(body.access_token, 5)).toEqual([200, 200, 200, 429, 429]);
  expect(await statuses("wrong", 4)).toEqual([401, 401, 401, 429]);
  for (let time = 0; time < 5; time += 1) expect((await call(app, "GET", "/api/system/health")).status).toBe(200);
});

test("the description and its page are open, and every route but the open ones needs a credential", async () => {
  const app = await testApp(await freshStorage("postgres"));
  const { body } = await call(app, "GET", "/openapi.json");
  expect((await call(app, "GET", "/docs/")).status).toBe(200);
  const open = new Set<string>();
  for (const [path, methods] of Object.entries<Record<string, unknown>>(body.paths)) {
    for (const method of Object.keys(methods)) {
      const url = path.replaceAll(/\{[^}]+\}/g, "1");
      const upper = method.toUpperCase() as "GET" | "POST";
      if ((await call(app, upper, url, upper === "GET" ? undefined : {})).status !== 401) open.add(`${upper} ${path}`);
    }
  }
  expect([...open].toSorted()).toEqual([
    "GET /",
    "GET /api/auth/check-first-run",
    "GET /api/system/health",
    "GET /api/system/info",
    "GET /api/system/ready",
    "GET /metrics",
    "POST /api/auth/cli/sessions",
    "POST /api/auth/cli/sessions/token",
    "POST /api/auth/initialize",
    "POST /api/auth/token",
  ]);
});
