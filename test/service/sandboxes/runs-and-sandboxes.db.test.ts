import { expect, test } from "vitest";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { oneTurnd } from "../harness/one-turnd.ts";
import { freshService } from "../harness/service.ts";

test("why no run can start is shown to superadmins; other callers see that none can", async () => {
  const unreachable = "http://127.0.0.1:9";
  const service = await freshService("postgres", { turndUrl: unreachable });
  const path = "/api/system/ready";
  const check = (message: unknown) => expect.arrayContaining([{ name: "sandbox", ok: false, message }]);
  const asOperator = await service.call("GET", path);
  expect(asOperator).toMatchObject({ status: 503, body: { checks: check(expect.stringContaining(unreachable)) } });
  const user = { username: "second", password: "correct horse battery", role: "user" };
  await service.call("POST", "/api/auth/users", user);
  const { body: login } = await service.call("POST", "/api/auth/token", user);
  for (const authorization of [undefined, "Bearer wrong", `Bearer ${login.access_token}`]) {
    const answer = await fetch(service.url + path, { headers: authorization === undefined ? {} : { authorization } });
    const body = await answer.text();
    expect(answer.status).toBe(503);
    expect(JSON.parse(body)).toMatchObject({
      checks: check("no run could start in a sandbox now"),
    });
    expect(body).not.toContain("127.0.0.1");
  }
});

test("a run that finds every sandbox taken reports it once, waits, and runs when one is idle", async () => {
  const turnd = await fakeDaemon();
  const { createSandboxes } = oneTurnd(turnd.url, { max: 1 });
  const service = await freshService("postgres", { turndUrl: turnd.url, createSandboxes });
  const first = await service.submit(await service.thread(), "paced 40 0.1\nFirst.");
  await waitFor("the first turn", async () => {
    const { body } = await service.call("GET", `/api/agent/runs/${first.run_id}`);
    return body.run.last_seq > 3;
  });
  const second = await service.submit(await service.thread(), "paced 1 0.01\nSecond.");
  const events = await service.events(second.run_id);
  const waiting = events.filter(({ data }) => data.payload.name === "svc.waiting");
  expect(waiting.map(({ data }) => data.payload.reason)).toEqual(["sandbox_limit"]);
  expect(await service.result(second.run_id)).toMatchObject({ status: "completed", output: "Second." });
  expect(await service.result(first.run_id)).toMatchObject({ status: "completed", output: "First." });
});

test("a run that waits for a place longer than it may fails as sandbox_limit, and a cancel ends the wait at once", async () => {
  const turnd = await fakeDaemon();
  const env = { SERVICE_EXECUTOR_LOST_MS: "4000" };
  const { createSandboxes } = oneTurnd(turnd.url, { max: 1 });
  const service = await freshService("postgres", { turndUrl: turnd.url, createSandboxes, env });
  const busy = await service.submit(await service.thread(), "paced 600 0.1\nFirst.");
  await waitFor("the first turn", async () => {
    const { body } = await service.call("GET", `/api/agent/runs/${busy.run_id}`);
    return body.run.last_seq > 3;
  });
  const second = await service.submit(await service.thread(), "Second.");
  expect(await service.result(second.run_id)).toMatchObject({
    status: "failed",
    error: { type: "sandbox_limit", retryable: true, user_action: "retry" },
  });
  const third = await service.submit(await service.thread(), "Third.");
  await waitFor("the third's wait", async () => {
    const { body } = await service.call("GET", `/api/agent/runs/${third.run_id}/events?format=json`);
    return body.events.some(({ payload }: { payload: { name?: string } }) => payload.name === "svc.waiting");
  });
  await service.call("POST", `/api/agent/runs/${third.run_id}/cancel`);
  expect(await service.result(third.run_id)).toMatchObject({ status: "cancelled" });
  await service.call("POST", `/api/agent/runs/${busy.run_id}/cancel`);
});

test("a run whose sandbox does not start fails at once with the reason", async () => {
  const turnd = await fakeDaemon();
  const { createSandboxes } = oneTurnd(turnd.url, { max: 1, fault: "no such image" });
  const service = await freshService("postgres", { turndUrl: turnd.url, createSandboxes });
  const { run_id } = await service.submit(await service.thread(), "Hello.");
  expect(await service.result(run_id)).toMatchObject({
    status: "failed",
    error: { type: "sandbox_start_failed", message: "no such image", retryable: true },
  });
});

test("info and ready report who shares a sandbox, once there are two", async () => {
  const turnd = await fakeDaemon();
  const service = await freshService("postgres", { turndUrl: turnd.url });
  const info = async () => (await service.call("GET", "/api/system/info")).body;
  const checks = async () => (await service.call("GET", "/api/system/ready")).body.checks;
  expect(await info()).toMatchObject({ sandbox: { kind: "static", shared_by: "all_users" }, warnings: [] });
  expect(await checks()).toContainEqual({ name: "sandbox", ok: true });
  expect(await checks()).not.toContainEqual(expect.objectContaining({ name: "sandbox_sharing" }));
  const user = { username: "second", password: "correct horse battery", role: "user" };
  expect((await service.call("POST", "/api/auth/users", user)).status).toBe(200);
  const message = expect.stringContaining("2 users share the static sandboxes");
  expect(await info()).toMatchObject({ warnings: [message] });
  expect(await checks()).toContainEqual({ name: "sandbox_sharing", ok: true, message });
});

test("a run that finds the engine away reports it once, waits, and runs when it is back", async () => {
  const turnd = await fakeDaemon();
  const sandboxes = oneTurnd(turnd.url);
  const service = await freshService("postgres", { turndUrl: turnd.url, createSandboxes: sandboxes.createSandboxes });
  sandboxes.isAway = true;
  const { run_id: runId } = await service.submit(await service.thread(), "Hello.");
  await waitFor("two starts", () => sandboxes.launches >= 2);
  sandboxes.isAway = false;
  expect(await service.result(runId)).toMatchObject({ status: "completed", output: "Hello." });
  const waiting = (await service.events(runId)).filter(({ data }) => data.payload.name === "svc.waiting");
  expect(waiting.map(({ data }) => data.payload.reason)).toEqual(["executor_unreachable"]);
});
