import { expect, test } from "vitest";
import { ExecutorInfo, ExecutorList, Session, SessionList } from "../../../../src/turnd/protocol/index.ts";
import { createTestApp, problemOf } from "./test-app.ts";

test("a session is made, listed, looked at and deleted", async () => {
  const { app } = await createTestApp();
  const payload = { executor: "cli-b", session_id: "session:one", permissions: { network: "deny" } };
  const made = await app.inject({ method: "POST", url: "/v1/sessions", payload });
  expect(made.statusCode).toBe(201);
  expect(Session.parse(made.json())).toMatchObject(payload);
  expect(SessionList.parse((await app.inject("/v1/sessions")).json()).sessions).toHaveLength(1);
  expect(Session.parse((await app.inject("/v1/sessions/session%3Aone")).json()).session_id).toBe("session:one");
  const gone = await app.inject({ method: "DELETE", url: "/v1/sessions/session%3Aone" });
  expect([gone.statusCode, gone.body]).toEqual([204, ""]);
  expect((await app.inject("/v1/sessions/session%3Aone")).statusCode).toBe(404);
});

test("a session that exists is not made again", async () => {
  const { app } = await createTestApp();
  const request = {
    method: "POST" as const,
    url: "/v1/sessions",
    payload: { executor: "cli-b", session_id: "session-1" },
  };
  await app.inject(request);
  const again = await app.inject(request);
  expect(again.statusCode).toBe(409);
  expect(problemOf(again).code).toBe("session_exists");
});

test("executors are listed and looked at", async () => {
  const { app } = await createTestApp();
  expect(ExecutorList.parse((await app.inject("/v1/executors")).json()).executors).toHaveLength(1);
  expect(ExecutorInfo.parse((await app.inject("/v1/executors/cli-b")).json()).id).toBe("cli-b");
});

test("the sandbox is described in the envelope its clients read", async () => {
  const { app } = await createTestApp();
  expect((await app.inject("/v1/sandbox")).json()).toMatchObject({
    success: true,
    message: "ok",
    data: { home_dir: "/home/sandbox", version: "0.1.0" },
  });
});

test("health reports version and time up", async () => {
  const { app } = await createTestApp();
  expect((await app.inject("/v1/health")).json()).toEqual({ status: "ok", version: "0.1.0", uptime_ms: 1_234 });
});

test("ready is 503 with its reasons when a turn could not run", async () => {
  const { app, service } = await createTestApp();
  expect((await app.inject("/v1/ready")).statusCode).toBe(200);
  service.isReady = false;
  const response = await app.inject("/v1/ready");
  expect([response.statusCode, response.json()]).toEqual([
    503,
    { ready: false, checks: [{ name: "state", ok: false }] },
  ]);
});

test("ready is 503 while turnd is shutting down", async () => {
  const { app } = await createTestApp({ isShuttingDown: () => true });
  const response = await app.inject("/v1/ready");
  expect(response.statusCode).toBe(503);
  expect(response.json()).toMatchObject({ ready: false });
});

test("a connection has timeouts for what it sends, and none for how long turnd answers", async () => {
  const { app } = await createTestApp();
  const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = app.server;
  expect({ headersTimeout, requestTimeout, keepAliveTimeout, timeout }).toEqual({
    headersTimeout: 20_000,
    requestTimeout: 0,
    keepAliveTimeout: 65_000,
    timeout: 0,
  });
});
