import { expect, test } from "vitest";
import { fakeDaemon } from "../../../harness/fake-daemon.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { PASSWORD } from "../../harness/auth.ts";
import { freshService } from "../../harness/service.ts";
import { startWebServer } from "../../harness/web-server.ts";

test("disabling a user cancels what runs at turnd, ends what waits, and sends nothing to their webhooks", async () => {
  const receiver = await startWebServer((_received, response) => void response.writeHead(204).end());
  const service = await freshService("postgres", {
    turndUrl: (await fakeDaemon()).url,
    env: { SERVICE_OUTBOUND_ALLOW: `127.0.0.1:${receiver.port}` },
  });
  const made = await service.call("POST", "/api/auth/users", { username: "other", password: PASSWORD, role: "user" });
  const user = `/api/auth/users/${made.body.user.id}`;
  const login = async () => {
    const { body } = await service.call("POST", "/api/auth/token", { username: "other", password: PASSWORD });
    return { authorization: `Bearer ${body.access_token}` };
  };
  let as = await login();
  const ask = (method: string, path: string, body?: unknown) => service.call(method, path, body, as);
  const hook = { url: `http://127.0.0.1:${receiver.port}/`, events: ["run.cancelled", "run.completed"] };
  const { webhook } = (await ask("POST", "/api/webhooks", hook)).body;
  const thread = (await ask("POST", "/api/chat/thread", { agent_id: "cli-b" })).body.id;
  const submit = async (query: string) =>
    (await ask("POST", "/api/agent/runs", { agent_slug: "cli-b", thread_id: thread, query })).body;
  const { run_id: runId } = await submit("before\nhang");
  await waitFor(
    "the turn",
    async () => (await ask("GET", `/api/agent/runs/${runId}/events?format=json`)).body.last_seq > 3,
  );
  const waiting = await submit("Later.");
  expect((await service.call("PUT", user, { is_enabled: false })).status).toBe(200);
  expect((await ask("GET", `/api/chat/thread/${thread}`)).status).toBe(401);
  await waitFor("the end of every run", async () => {
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    return metrics.includes("svc_runs_open{") && !/^svc_runs_open\{.*\} [1-9]/m.test(metrics);
  });
  await service.call("PUT", user, { is_enabled: true });
  as = await login();
  expect((await ask("GET", `/api/agent/runs/${runId}/result`)).body).toMatchObject({
    status: "cancelled",
    final: true,
  });
  expect((await ask("GET", `/api/agent/requests/${waiting.request_id}`)).body.request).toMatchObject({
    status: "cancelled",
  });
  expect((await ask("GET", `/api/chat/thread/${thread}`)).body.status).toBe("idle");
  expect((await ask("GET", `/api/webhooks/${webhook.id}/deliveries`)).body).toMatchObject({ total: 0 });
  // The same thread goes on, and its end is delivered.
  const { run_id: next } = await submit("Done.");
  await waitFor("the delivery", () => receiver.received.length > 0);
  expect(receiver.received.map(({ body }) => JSON.parse(body).data)).toMatchObject([
    { run_id: next, status: "completed" },
  ]);
});
