import { sql } from "kysely";
import { pino } from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { attemptRun } from "../../../../src/service/runs/work/attempt.ts";
import type { AttemptOptions } from "../../../../src/service/runs/work/attempt-context.ts";
import { createControls } from "../../../../src/service/runs/control/controls.ts";
import { endLeftTurn } from "../../../../src/service/runs/work/left-turn.ts";
import { append } from "../../../../src/service/runs/state/append.ts";
import type { SandboxScope } from "../../../../src/service/sandboxes/sandboxes.ts";
import { createStaticSandboxes } from "../../../../src/service/sandboxes/static/static.ts";
import type { Storage } from "../../../../src/service/storage/storage.ts";
import { fakeDaemon } from "../../../harness/fake-daemon.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { startLossyProxy } from "../../harness/lossy-proxy.ts";
import { openRunDesk, type RunDesk } from "../../harness/run-desk.ts";
import { freshService } from "../../harness/service.ts";
import { shareStorage } from "../../harness/storage.ts";

// Queues wait for seconds between their tries, and all this runs on a loaded machine.
vi.setConfig({ testTimeout: 240_000 });

const logger = pino({ level: "silent" });
const NOWHERE = "http://127.0.0.1:9";

/** What one process's attempts share, with a turnd. */
async function attemptsAt(desk: RunDesk, url: string, more: Partial<AttemptOptions> = {}): Promise<AttemptOptions> {
  const { storage, finishing } = desk;
  const controls = await createControls(storage, logger);
  onTestFinished(() => controls.close());
  return {
    storage,
    finishing,
    controls,
    logger,
    sandboxes: createStaticSandboxes({ storage, urls: [url], token: undefined }),
    worker: "test",
    leaseMs: 10_000,
    toolServers: async () => ({}),
    executorLostMs: 10_000,
    ...more,
  };
}

async function onlyRun(desk: RunDesk) {
  const [run] = await desk.runRows();
  if (run === undefined) throw new Error("there is no run");
  return run;
}

/** A run that is given up, as every attempt at it is lost once its turn was made. */
async function giveUpRun(storage: Storage, query: string) {
  const turnd = await fakeDaemon();
  const desk = await openRunDesk(storage);
  const { run } = await desk.submit("r-1", "enqueue", { input: { query, images: [] } });
  const runId = run?.id ?? "";
  const attempts = await attemptsAt(desk, turnd.url, {
    onStep(step) {
      if (step === "turn") throw new Error("lost");
    },
  });
  const { signal } = new AbortController();
  for (const _ of [1, 2, 3]) await expect(attemptRun(attempts, runId, signal)).rejects.toThrow("lost");
  await attemptRun(attempts, runId, signal);
  return { turnd, desk, runId, attempts, signal };
}

const storage = shareStorage("postgres");

test("a run whose rows no attempt can read is given up after three, and does not loop", async () => {
  const desk = await openRunDesk(storage());
  const { run } = await desk.submit("r-1", "enqueue");
  const runId = run?.id ?? "";
  // Its input is unreadable to this version.
  await sql`update run_request set input = '{"query": 7}' where planned_run_id = ${runId}`.execute(storage().db);
  const attempts = await attemptsAt(desk, NOWHERE);
  const { signal } = new AbortController();
  for (const attempt of [1, 2, 3]) {
    await expect(attemptRun(attempts, runId, signal)).rejects.toThrow();
    expect(await onlyRun(desk)).toMatchObject({ attempt, status: "running" });
  }
  await attemptRun(attempts, runId, signal);
  expect(await onlyRun(desk)).toMatchObject({ status: "failed", error: { type: "attempts_exhausted" } });
  expect((await desk.events(runId)).slice(-2).map(({ event }) => event)).toEqual(["error", "end"]);
});

test("attempts that only waited count as failed; one that moved the turn's cursor does not", async () => {
  const desk = await openRunDesk(storage());
  const { run } = await desk.submit("r-1", "enqueue");
  const runId = run?.id ?? "";
  const wait = async () => {
    const owner = await desk.claim(runId);
    if (owner === undefined) throw new Error("the run has ended");
    await append(storage(), owner, [{ event: "custom", payload: { name: "svc.waiting", reason: "x" } }], {
      isNoticed: false,
    });
    return owner;
  };
  await wait();
  await wait();
  await desk.write(await wait());
  await wait();
  expect((await onlyRun(desk)).stalled_attempts).toBe(0);
  await wait();
  await wait();
  await desk.claim(runId);
  expect((await onlyRun(desk)).stalled_attempts).toBe(3);
});

test("a run that is given up has its turn cancelled at turnd, and so it stays when that takes two tries", async () => {
  const { turnd, desk, runId, attempts, signal } = await giveUpRun(storage(), "before\nhang");
  const failed = await onlyRun(desk);
  expect(failed).toMatchObject({ status: "failed", error: { type: "attempts_exhausted", retryable: false } });
  expect(failed.turn_left_at).toBeInstanceOf(Date);
  const turns = async () => (await turnd.request("GET", "/v1/turns")).body.turns;
  expect(await turns()).toMatchObject([{ request_id: runId, status: expect.stringMatching(/^(queued|running)$/) }]);

  const unreachable = {
    ...attempts,
    sandboxes: createStaticSandboxes({ storage: storage(), urls: [], token: undefined }),
  };
  await expect(endLeftTurn(unreachable, runId, signal)).rejects.toThrow();
  expect((await onlyRun(desk)).turn_left_at).toBeInstanceOf(Date);
  await endLeftTurn(attempts, runId, signal);
  expect(await turns()).toMatchObject([{ request_id: runId, status: "cancelled" }]);
  expect((await onlyRun(desk)).turn_left_at).toBeNull();
});

test("what the turn of a run that was given up has used is counted, once", async () => {
  const { turnd, desk, runId, attempts, signal } = await giveUpRun(storage(), "Done.");
  await waitFor("the turn's end", async () => {
    const { turns } = (await turnd.request("GET", "/v1/turns")).body;
    return turns[0].status === "completed";
  });
  for (const _ of [1, 2]) await endLeftTurn(attempts, runId, signal);
  const days = storage().db.selectFrom("usage_day").selectAll().where("user_id", "=", desk.actor.caller.userId);
  expect(await days.execute()).toMatchObject([{ runs: 1, failed_runs: 1, input_tokens: 10, output_tokens: 5 }]);
  expect(await onlyRun(desk)).toMatchObject({ status: "failed", usage: null });
});

test("an event of a type that is not known is kept as it came, and the run goes on to its end", async () => {
  const desk = await openRunDesk(storage());
  const { run } = await desk.submit("r-1", "enqueue", { input: { query: "tool ls\nDone.", images: [] } });
  const runId = run?.id ?? "";
  const proxy = await startLossyProxy((await fakeDaemon()).url);
  proxy.decide((_, path) => (path.endsWith("/events") ? "spoil" : "pass"));
  await attemptRun(await attemptsAt(desk, proxy.url), runId, new AbortController().signal);
  expect(await onlyRun(desk)).toMatchObject({ status: "interrupted", output: "Done.", error: null });
  const events = await desk.events(runId);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const unread = events.filter(({ payload }) => payload["name"] === "svc.unknown_record");
  expect(unread.map(({ payload }) => payload)).toMatchObject([
    { reason: "unknown_type", line: expect.stringContaining('"text":"Done."') },
  ]);
  expect(events.filter(({ event }) => event === "messages").length).toBeGreaterThan(1);
});

test("a turn was sent and turnd's first answers cannot be read: it is asked again, and the turn is followed", async () => {
  const desk = await openRunDesk(storage());
  const { run } = await desk.submit("r-1", "enqueue", { input: { query: "Done.", images: [] } });
  const runId = run?.id ?? "";
  const turnd = await fakeDaemon();
  const proxy = await startLossyProxy(turnd.url);
  const attempts = await attemptsAt(desk, proxy.url);
  const stop = new AbortController();
  proxy.decide((method, path) => (method === "POST" && path === "/v1/turns" ? "hold" : "pass"));
  const stopped = attemptRun(attempts, runId, stop.signal);
  await waitFor("the turn", async () => (await turnd.request("GET", "/v1/turns")).body.turns.length === 1);
  stop.abort(new Error("the service is stopping"));
  await expect(stopped).rejects.toThrow("stopping");
  let garbled = 0;
  proxy.decide((_, path) => (path.startsWith("/v1/requests/") && ++garbled < 3 ? "garble" : "pass"));
  await attemptRun(attempts, runId, new AbortController().signal);
  expect(await onlyRun(desk)).toMatchObject({ status: "interrupted", output: "Done.", error: null });
  expect(garbled).toBe(3);
  expect((await turnd.request("GET", "/v1/turns")).body.turns).toMatchObject([{ request_id: runId }]);
});

test("a turn was sent and turnd came back empty: executor_lost, however often its session is made anew", async () => {
  const desk = await openRunDesk(storage());
  const { run } = await desk.submit("r-1", "enqueue");
  const runId = run?.id ?? "";
  const before = await startLossyProxy((await fakeDaemon()).url);
  const stop = new AbortController();
  before.decide((method, path) => {
    if (method !== "POST" || path !== "/v1/turns") return "pass";
    stop.abort(new Error("the service is stopping"));
    return "hold";
  });
  await expect(attemptRun(await attemptsAt(desk, before.url), runId, stop.signal)).rejects.toThrow("stopping");
  expect(await onlyRun(desk)).toMatchObject({ turn_request_id: runId, turn_id: null });

  const turnd = await fakeDaemon();
  const after = await startLossyProxy(turnd.url);
  let cuts = 1;
  after.decide((method, path) => (method === "POST" && path === "/v1/sessions" && cuts-- > 0 ? "cut" : "pass"));
  const attempts = await attemptsAt(desk, after.url);
  const { sandboxes } = attempts;
  const elsewhere = {
    ...sandboxes,
    acquire: (scope: SandboxScope, signal: AbortSignal) => sandboxes.acquire({ ...scope, sandboxId: null }, signal),
  };
  await attemptRun({ ...attempts, sandboxes: elsewhere }, runId, new AbortController().signal);
  expect(await onlyRun(desk)).toMatchObject({ status: "failed", error: { type: "executor_lost", retryable: false } });
  expect((await turnd.request("GET", "/v1/turns")).body.turns).toEqual([]);
});

test.each(["cut", "garble"] as const)(
  "the answer to a turn's POST is lost (%s): turnd is asked for the turn, and it runs once",
  async (handling) => {
    const turnd = await fakeDaemon();
    const proxy = await startLossyProxy(turnd.url);
    let left = 2;
    proxy.decide((method, path) => (method === "POST" && path === "/v1/turns" && left-- > 0 ? handling : "pass"));
    const service = await freshService("postgres", { turndUrl: proxy.url });
    const { run_id: runId } = await service.submit(await service.thread(), "Done.");
    expect(await service.result(runId)).toMatchObject({ status: "completed", output: "Done." });
    expect((await turnd.request("GET", "/v1/turns")).body.turns).toMatchObject([{ request_id: runId }]);
    expect(proxy.asked.filter((each) => each === "POST /v1/turns")).toHaveLength(1);
  },
);

test("the answer to a turn's POST is lost for good: executor_lost, not retryable, and its turn is ended later", async () => {
  const turnd = await fakeDaemon();
  const proxy = await startLossyProxy(turnd.url);
  let isAway = false;
  proxy.decide((method, path) => {
    if (isAway) return "refuse";
    if (method !== "POST" || path !== "/v1/turns") return "pass";
    isAway = true;
    return "cut";
  });
  const service = await freshService("postgres", { turndUrl: proxy.url, env: { SERVICE_EXECUTOR_LOST_MS: "2000" } });
  const { run_id: runId } = await service.submit(await service.thread(), "before\nhang");
  const result = await service.result(runId);
  expect(result).toMatchObject({
    status: "failed",
    error: { type: "executor_lost", retryable: false, user_action: "operator" },
  });
  isAway = false;
  proxy.decide(() => "pass");
  await waitFor("the turn's end", async () => {
    const { body } = await turnd.request("GET", `/v1/requests/${runId}`);
    return body.status === "cancelled";
  });
});

test("a run that is cancelled while its turnd is lost is cancelled, says that nobody has confirmed it, and its turn is ended later", async () => {
  const turnd = await fakeDaemon();
  const proxy = await startLossyProxy(turnd.url);
  const service = await freshService("postgres", { turndUrl: proxy.url, env: { SERVICE_EXECUTOR_LOST_MS: "2000" } });
  const { run_id: runId } = await service.submit(await service.thread(), "before\nhang");
  await waitFor("the turn", async () => {
    return (await turnd.request("GET", `/v1/requests/${runId}`)).body.status === "running";
  });
  proxy.decide(() => "refuse");
  proxy.cutOff();
  await service.call("POST", `/api/agent/runs/${runId}/cancel`);
  const result = await service.result(runId);
  expect(result).toMatchObject({ status: "cancelled" });
  expect(result.error ?? null).toBeNull();
  const events = await service.events(runId);
  expect(events.map(({ data }) => data.payload)).toContainEqual(
    expect.objectContaining({ name: "svc.cancel_unconfirmed", error_type: "executor_lost" }),
  );
  proxy.decide(() => "pass");
  await waitFor("the turn's end", async () => {
    return (await turnd.request("GET", `/v1/requests/${runId}`)).body.status === "cancelled";
  });
});

test("turnd takes nothing at all: executor_unreachable, which may be sent again", async () => {
  const proxy = await startLossyProxy((await fakeDaemon()).url);
  proxy.decide(() => "refuse");
  const service = await freshService("postgres", { turndUrl: proxy.url, env: { SERVICE_EXECUTOR_LOST_MS: "2000" } });
  const { run_id: runId } = await service.submit(await service.thread(), "Never.");
  expect(await service.result(runId)).toMatchObject({
    status: "failed",
    error: { type: "executor_unreachable", retryable: true, user_action: "retry" },
  });
});
