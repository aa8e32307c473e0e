import { expect, onTestFinished, test } from "vitest";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { createMetrics } from "../../../src/service/http/metrics.ts";
import { call, testApp } from "../harness/app.ts";
import { freshService, startTestService } from "../harness/service.ts";
import { freshDatabase, freshStorage } from "../harness/storage.ts";

const TOKEN = "metrics-token-0123456789";

/** The samples of a scrape: `name{labels}` to value. */
function readSamples(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]));
}

async function scrape(url: string, headers: Record<string, string> = {}): Promise<Map<string, number>> {
  const answer = await fetch(`${url}/metrics`, { headers });
  expect(answer.status).toBe(200);
  return readSamples(await answer.text());
}

test("a run's end, its dispatch, its events and what is open are counted, and no id is a label", async () => {
  const service = await freshService("postgres", { turndUrl: (await fakeDaemon()).url });
  const before = await scrape(service.url);
  expect(before.get("svc_database_up")).toBe(1);
  expect(before.get('svc_runs_open{status="running"}')).toBe(0);
  expect(before.get("svc_requests_queued")).toBe(0);
  expect(before.get('svc_job_lag_seconds{queue="run"}')).toBeGreaterThanOrEqual(0);
  const thread = await service.thread();
  const { run_id: done } = await service.submit(thread, "Done.");
  await service.result(done);
  const { run_id: failed } = await service.submit(await service.thread(), "exit 3");
  const { error } = await service.result(failed);
  const running = await service.submit(thread, "before\nhang");
  const waiting = await service.submit(thread, "x");
  expect(waiting.status).toBe("queued");
  const stream = await fetch(`${service.url}${running.stream_url}`, {
    headers: { authorization: service.authorization(), accept: "text/event-stream" },
  });
  const after = await waitFor("the figures of the running run", async () => {
    const samples = await scrape(service.url);
    return samples.get('svc_runs_open{status="running"}') === 1 ? samples : undefined;
  });
  await stream.body?.cancel();
  expect(after.get('svc_runs_total{status="completed",error="none",source="chat"}')).toBe(1);
  expect(after.get(`svc_runs_total{status="failed",error="${error?.type}",source="chat"}`)).toBe(1);
  expect(after.get("svc_requests_queued")).toBe(1);
  expect(after.get("svc_streams_open")).toBe(1);
  expect(after.get("svc_dispatch_seconds_count")).toBeGreaterThanOrEqual(2);
  expect(after.get("svc_dispatch_seconds_sum")).toBeGreaterThan(0);
  expect(after.get("svc_event_seconds_count")).toBeGreaterThan(3);
  expect(after.get('svc_sandboxes{kind="static",state="ready"}')).toBe(1);
  const labels = [...after.keys()].join("\n");
  for (const id of [done, failed, running.run_id, thread, "root", "cli-b"]) expect(labels).not.toContain(id);
  await service.call("POST", `/api/agent/runs/${running.run_id}/cancel`);
  await service.result(running.run_id);
});

test("a run that is cancelled before it has begun is counted once, and one whose end is undone never", async () => {
  const storage = await freshStorage("postgres");
  const seen: string[] = [];
  await storage.transaction(async () => storage.afterCommit(() => seen.push("committed")));
  await expect(
    storage.transaction(async () => {
      storage.afterCommit(() => seen.push("undone"));
      throw new Error("undo");
    }),
  ).rejects.toThrow("undo");
  expect(seen).toEqual(["committed"]);
  expect(() => storage.afterCommit(() => undefined)).toThrow("inside a transaction");
});

test("a worker answers health, ready and metrics at SERVICE_METRICS_PORT, and no other route", async () => {
  const database = await freshDatabase("postgres");
  const options = { turndUrl: (await fakeDaemon()).url, databaseUrl: database.url };
  const api = await startTestService({ ...options, role: "api" });
  const ready = async (): Promise<unknown> => (await fetch(`${api.url}/api/system/ready`)).json();
  expect(await ready()).toMatchObject({
    ready: false,
    checks: [
      { name: "database", ok: true },
      { name: "worker", ok: false },
    ],
  });
  const { run_id: id } = await api.submit(await api.thread(), "Done.");
  const worker = await startTestService({ ...options, role: "worker", env: { SERVICE_METRICS_PORT: "0" } });
  await api.result(id);
  expect(await ready()).toMatchObject({
    ready: true,
    checks: [{ name: "database" }, { name: "worker", ok: true }, { name: "sandbox", ok: true }],
  });
  expect((await fetch(`${worker.url}/api/system/health`)).status).toBe(200);
  expect((await fetch(`${worker.url}/api/agents`)).status).toBe(404);
  const samples = await scrape(worker.url);
  expect(samples.get('svc_runs_total{status="completed",error="none",source="chat"}')).toBe(1);
  expect((await scrape(api.url)).has('svc_runs_total{status="completed",error="none",source="chat"}')).toBe(false);
  await worker.stop();
  expect(await ready()).toMatchObject({ ready: false });
});

test("without a token metrics are for this machine alone; with one, for every caller that has it", async () => {
  const storage = await freshStorage("postgres");
  const local = await testApp(storage);
  onTestFinished(() => local.close());
  const status = async (app: typeof local, headers: Record<string, string>, remoteAddress = "127.0.0.1") =>
    (await app.inject({ url: "/metrics", headers, remoteAddress })).statusCode;
  expect(await status(local, {})).toBe(200);
  expect(await status(local, {}, "::1")).toBe(200);
  expect(await status(local, {}, "::ffff:127.0.0.1")).toBe(200);
  expect(await status(local, {}, "192.0.2.7")).toBe(401);
  for (const name of ["x-forwarded-for", "forwarded", "x-real-ip", "via"])
    expect([name, await status(local, { [name]: "127.0.0.1" })]).toEqual([name, 401]);
  const open = await testApp(storage, { isLocalOnly: false });
  onTestFinished(() => open.close());
  expect(await status(open, {})).toBe(401);
  const guarded = await testApp(storage, { metricsToken: TOKEN });
  onTestFinished(() => guarded.close());
  expect(await status(guarded, {})).toBe(401);
  expect(await status(guarded, { authorization: `Bearer ${TOKEN}x` })).toBe(401);
  expect(await status(guarded, { authorization: `Bearer ${TOKEN}` }, "192.0.2.7")).toBe(200);
  const answer = await call(guarded, "GET", "/metrics", undefined, { token: TOKEN });
  expect(answer.body).not.toContain(TOKEN);
  expect(answer.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
});

test("where the database does not answer, the rows' figures are absent and the process's are there", async () => {
  const metrics = createMetrics();
  metrics.observer.runEnded({ status: "failed", error: "executor_lost", source: "chat" });
  const usage = {
    input_tokens: 7,
    cached_input_tokens: 2,
    cache_write_tokens: 1,
    output_tokens: 3,
    reasoning_tokens: 0,
  };
  metrics.observer.tokensUsed(usage);
  const samples = readSamples(await metrics.render(undefined));
  expect(samples.get("svc_database_up")).toBe(0);
  expect(samples.has("svc_requests_queued")).toBe(false);
  expect(samples.get('svc_runs_total{status="failed",error="executor_lost",source="chat"}')).toBe(1);
  expect(
    ["input", "cached_input", "cache_write", "output"].map((kind) => samples.get(`svc_tokens_total{kind="${kind}"}`)),
  ).toEqual([7, 2, 1, 3]);
});
