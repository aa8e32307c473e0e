import { pino } from "pino";
import { Webhook as Verifier } from "standardwebhooks";
import { describe, expect, onTestFinished, test } from "vitest";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import { createOutbound } from "../../../src/service/outbound/outbound.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { deliver, MOST_ATTEMPTS } from "../../../src/service/webhooks/deliver.ts";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { call, testApp } from "../harness/app.ts";
import { KEY_SECRET, PASSWORD } from "../harness/auth.ts";
import { freshService } from "../harness/service.ts";
import { freshStorage } from "../harness/storage.ts";
import { startWebServer } from "../harness/web-server.ts";

const PUBLIC_URL = "https://hooks.example.com/in";

/** An app with a superadmin, and a run without an attempt. */
async function appWithRun(storage: Storage) {
  await putAgents(storage, await readAgentsFile(undefined));
  const app = await testApp(storage);
  onTestFinished(() => app.close());
  const root = (await call(app, "POST", "/api/auth/initialize", { username: "root", password: PASSWORD })).body;
  const as = { token: root.access_token };
  const thread = (await call(app, "POST", "/api/chat/thread", { agent_id: "cli-b" }, as)).body.id;
  const body = { agent_slug: "cli-b", thread_id: thread, query: "Hello." };
  const runId: string = (await call(app, "POST", "/api/agent/runs", body, as)).body.run_id;
  return { app, as, userId: root.user.id as number, runId };
}

async function makeDelivery(storage: Storage, webhookId: string, runId: string, attempts = 0): Promise<string> {
  const id = crypto.randomUUID();
  await storage.db
    .insertInto("webhook_delivery")
    .values({ id, webhook_id: webhookId, run_id: runId, event: "run.completed", status: "pending", attempts })
    .execute();
  return id;
}

test("the ends of runs that are asked for are delivered once each, signed, and again where the receiver fails", async () => {
  let answers = 0;
  const receiver = await startWebServer((_received, response) => {
    answers += 1;
    response.writeHead(answers === 1 ? 500 : 204).end();
  });
  const service = await freshService("postgres", {
    turndUrl: (await fakeDaemon()).url,
    env: { SERVICE_OUTBOUND_ALLOW: `127.0.0.1:${receiver.port}` },
  });
  const made = (await service.call("POST", "/api/webhooks", { url: `${receiver.url}/in`, events: ["run.completed"] }))
    .body;
  expect(made).toMatchObject({ webhook: { events: ["run.completed"], is_enabled: true, consecutive_failures: 0 } });
  const thread = await service.thread();
  const failed = await service.submit(thread, "exit 3");
  await service.result(failed.run_id);
  // On a thread of its own: what a CLI used is not known of a turn that follows a failed one.
  const other = await service.thread();
  const { run_id: runId, request_id: requestId } = await service.submit(other, "tool ls\nDone.");
  await service.result(runId);
  const delivered = await waitFor("the delivery", async () => {
    const { body } = await service.call("GET", `/api/webhooks/${made.webhook.id}/deliveries`);
    return body.deliveries[0]?.status === "delivered" ? body : undefined;
  });
  expect(delivered).toMatchObject({
    total: 1,
    deliveries: [{ run_id: runId, event: "run.completed", attempts: 2, last_status: 204, last_error: null }],
  });
  expect(receiver.received).toHaveLength(2);
  const [first, second] = receiver.received;
  expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
  for (const { headers, body } of receiver.received) {
    const signed = {
      "webhook-id": String(headers["webhook-id"]),
      "webhook-timestamp": String(headers["webhook-timestamp"]),
      "webhook-signature": String(headers["webhook-signature"]),
    };
    expect(new Verifier(made.secret).verify(body, signed)).toMatchObject({
      type: "run.completed",
      timestamp: expect.any(String),
      data: {
        run_id: runId,
        request_id: requestId,
        thread_id: other,
        agent_slug: "cli-b",
        status: "completed",
        error: null,
        usage: { total_tokens: 15 },
        evaluation: null,
      },
    });
    expect(body).not.toContain("Done.");
    expect(() => new Verifier(made.secret).verify(`${body} `, signed)).toThrow();
  }
});

test("a webhook is kept, changed, rotated and deleted by its user alone, each change in the audit", async () => {
  const storage = await freshStorage("postgres");
  const { app, as } = await appWithRun(storage);
  const body = { url: PUBLIC_URL, events: ["run.failed", "run.failed"] };
  const made = (await call(app, "POST", "/api/webhooks", body, as)).body;
  const path = `/api/webhooks/${made.webhook.id}`;
  expect(made).toMatchObject({ webhook: { url: PUBLIC_URL, events: ["run.failed"] } });
  expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect((await call(app, "GET", path, undefined, as)).body).toEqual({ webhook: made.webhook });
  const off = await call(app, "PUT", path, { is_enabled: false, events: ["run.cancelled"] }, as);
  expect(off.body).toMatchObject({ webhook: { is_enabled: false, events: ["run.cancelled"] } });
  expect(off.body.secret).toBeUndefined();
  const rotated = (await call(app, "PUT", path, { rotate_secret: true }, as)).body.secret;
  expect(rotated).toMatch(/^whsec_/);
  expect(rotated).not.toBe(made.secret);
  await call(app, "POST", "/api/auth/users", { username: "other", password: PASSWORD }, as);
  const other = (await call(app, "POST", "/api/auth/token", { username: "other", password: PASSWORD })).body;
  for (const [method, at, sent] of [
    ["GET", path, undefined],
    ["GET", `${path}/deliveries`, undefined],
    ["PUT", path, { is_enabled: true }],
    ["DELETE", path, undefined],
    ["GET", "/api/webhooks/x", undefined],
  ] as const) {
    const answer = await call(app, method, at, sent, { token: other.access_token });
    expect(answer.body.detail.code).toBe("webhook_not_found");
  }
  expect((await call(app, "GET", "/api/webhooks", undefined, as)).body).toMatchObject({ total: 1 });
  expect((await call(app, "DELETE", path, undefined, as)).body).toEqual({ success: true });
  expect((await call(app, "GET", path, undefined, as)).status).toBe(404);
  const audit = await call(app, "GET", `/api/audit?subject=webhook:${made.webhook.id}`, undefined, as);
  expect(audit.body.entries.map(({ action }: { action: string }) => action)).toEqual([
    "webhook.deleted",
    "webhook.updated",
    "webhook.updated",
    "webhook.created",
  ]);
  expect(JSON.stringify(audit.body)).not.toContain("whsec_");
});

test("an address that is not public is refused by name, and so is one webhook too many", async () => {
  const storage = await freshStorage("postgres");
  const { app, as } = await appWithRun(storage);
  const make = (url: string) => call(app, "POST", "/api/webhooks", { url, events: ["run.failed"] }, as);
  for (const [url, reason] of [
    ["http://127.0.0.1/", "address"],
    ["http://169.254.169.254/latest", "address"],
    ["http://localhost:5050/", "address"],
    ["ftp://example.com/", "scheme"],
    ["https://a:b@example.com/", "user_info"],
    ["example.com", "malformed"],
  ] as const) {
    expect(await make(url)).toMatchObject({ status: 422, body: { detail: { code: "url_refused", reason } } });
  }
  const made = await Promise.all(Array.from({ length: 6 }, () => make(PUBLIC_URL)));
  expect(made.filter(({ status }) => status === 200)).toHaveLength(3);
  expect(made.find(({ status }) => status !== 200)?.body.detail.code).toBe("webhook_limit");
  expect((await call(app, "POST", "/api/webhooks", { url: PUBLIC_URL, events: [] }, as)).status).toBe(422);
});

test("a name that leads inside is not dialled; the last attempt fails for good; twenty of those disable it", async () => {
  const storage = await freshStorage("postgres");
  const { app, as, runId } = await appWithRun(storage);
  const receiver = await startWebServer((_received, response) => response.end());
  const { webhook } = (await call(app, "POST", "/api/webhooks", { url: PUBLIC_URL, events: ["run.completed"] }, as))
    .body;
  // As a name that has been turned to an address of ours since it was given.
  const inside = `http://localhost:${receiver.port}/`;
  await storage.db.updateTable("webhook").set({ url: inside }).where("id", "=", webhook.id).execute();
  const outbound = createOutbound({ allow: [], nameServers: ["127.0.0.1:9"] });
  const options = { storage, outbound, keySecret: KEY_SECRET, logger: pino({ level: "silent" }) };
  const send = (id: string) => deliver(options, id, new AbortController().signal);
  const look = async () => (await call(app, "GET", `/api/webhooks/${webhook.id}`, undefined, as)).body.webhook;
  const once = await makeDelivery(storage, webhook.id, runId);
  await expect(send(once)).rejects.toThrow("not delivered: address");
  expect(receiver.received).toEqual([]);
  expect(await look()).toMatchObject({ consecutive_failures: 0 });
  await storage.db
    .updateTable("webhook_delivery")
    .set({ attempts: MOST_ATTEMPTS - 1 })
    .where("id", "=", once)
    .execute();
  await send(once);
  await send(once);
  expect(await look()).toMatchObject({ consecutive_failures: 1, is_enabled: true });
  for (let failed = 2; failed <= 20; failed += 1) {
    await send(await makeDelivery(storage, webhook.id, crypto.randomUUID()));
  }
  expect(await look()).toMatchObject({ consecutive_failures: 20, is_enabled: false });
  await send(await makeDelivery(storage, webhook.id, crypto.randomUUID()));
  const { body } = await call(app, "GET", `/api/webhooks/${webhook.id}/deliveries`, undefined, as);
  expect(body.deliveries.every(({ status }: { status: string }) => status === "failed")).toBe(true);
  const on = await call(app, "PUT", `/api/webhooks/${webhook.id}`, { is_enabled: true }, as);
  expect(on.body.webhook).toMatchObject({ consecutive_failures: 0, is_enabled: true });
  const late = await makeDelivery(storage, webhook.id, crypto.randomUUID());
  await storage.db.updateTable("account").set({ deleted_at: new Date() }).execute();
  await send(late);
  expect(receiver.received).toEqual([]);
  const deliveries = storage.db.selectFrom("webhook_delivery").select(["status", "last_error"]).where("id", "=", late);
  expect(await deliveries.executeTakeFirst()).toMatchObject({
    status: "failed",
    last_error: "the webhook or its user is disabled, or the user deleted",
  });
});

describe("whatever the engine", () => {
  test("a receiver that is slow, redirects or is gone is not delivered to; none that hangs holds up another user's", async () => {
    const hanging = await startWebServer(() => undefined);
    const target = await startWebServer((_received, response) => response.writeHead(204).end());
    const other = await startWebServer(({ url }, response) => {
      if (url === "/gone") response.writeHead(410).end();
      else if (url === "/moved") response.writeHead(308, { location: `${target.url}/in` }).end();
      else response.writeHead(200).end("a body that never ends".repeat(100_000));
    });
    const ports = [hanging, target, other].map(({ port }) => `127.0.0.1:${port}`);
    const service = await freshService("postgres", {
      turndUrl: (await fakeDaemon()).url,
      env: { SERVICE_OUTBOUND_ALLOW: ports.join(",") },
    });
    const events = ["run.completed"];
    for (let count = 0; count < 12; count += 1) {
      await service.call("POST", "/api/webhooks", { url: `${hanging.url}/${count}`, events });
    }
    await service.call("POST", "/api/auth/users", { username: "other", password: PASSWORD, role: "user" });
    const { body } = await service.call("POST", "/api/auth/token", { username: "other", password: PASSWORD });
    const as = { authorization: `Bearer ${body.access_token}` };
    const ids = new Map<string, string>();
    for (const path of ["/large", "/gone", "/moved"]) {
      const made = await service.call("POST", "/api/webhooks", { url: `${other.url}${path}`, events }, as);
      ids.set(path, made.body.webhook.id);
    }
    const run = async (headers: Record<string, string>) => {
      const thread = (await service.call("POST", "/api/chat/thread", { agent_id: "cli-b" }, headers)).body.id;
      await service.call(
        "POST",
        "/api/agent/runs",
        { agent_slug: "cli-b", thread_id: thread, query: "Done." },
        headers,
      );
    };
    await run({});
    await waitFor("what hangs", () => hanging.received.length === 2);
    await run(as);
    const deliveryTo = async (path: string) =>
      (await service.call("GET", `/api/webhooks/${ids.get(path)}/deliveries`, undefined, as)).body.deliveries[0];
    const tried = async (path: string) =>
      waitFor(path, async () => {
        const delivery = await deliveryTo(path);
        return delivery?.attempts > 0 ? delivery : undefined;
      });
    expect(await tried("/large")).toMatchObject({ status: "delivered", attempts: 1, last_status: 200 });
    expect(await tried("/gone")).toMatchObject({ status: "failed", attempts: 1, last_status: 410 });
    expect(await tried("/moved")).toMatchObject({ status: "pending", last_status: 308 });
    // Eight would be at work at once.
    expect(hanging.received.length).toBeLessThan(8);
    expect(target.received).toEqual([]);
    const gone = await service.call("GET", `/api/webhooks/${ids.get("/gone")}`, undefined, as);
    expect(gone.body.webhook).toMatchObject({ is_enabled: false, consecutive_failures: 1 });
  });
});
