import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { AttemptStep } from "../../../src/service/runs/attempt-context.ts";
import type { Answer } from "../../harness/client.ts";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { startMortal, type Mortal } from "../harness/mortal.ts";
import { ENGINES, freshDatabase, type EngineKind } from "../harness/storage.ts";

const STEPS: readonly AttemptStep[] = ["claimed", "sandbox", "turn", "following", "ended"];

vi.setConfig({ testTimeout: 240_000 });

describe.each(ENGINES)("%s", (kind) => {
  // All at once: on PostgreSQL each of them waits for a lease.
  test(`killed at the step ${STEPS.join(", or ")}, the run goes on: one turn, no gap, one end`, async () => {
    await Promise.all(STEPS.map((step) => expectWholeWhenKilledAt(step, kind)));
  });
});

async function expectWholeWhenKilledAt(step: AttemptStep, kind: EngineKind): Promise<void> {
  const turnd = await fakeDaemon();
  const database = await freshDatabase(kind);
  const options = {
    directory: temporaryDirectory(onTestFinished),
    turndUrl: turnd.url,
    databaseUrl: database.kind === "postgres" ? database.url : undefined,
  };
  const first = await startMortal({ ...options, env: { MORTAL_STEP: step } });
  const { body: thread } = await first.call("POST", "/api/chat/thread", {
    agent_id: "cli-b",
    request_id: "thread-0001",
  });
  const request = {
    agent_slug: "cli-b",
    thread_id: thread.id,
    query: "tool ls\nsleep 0.2\nDone.",
    meta: { request_id: "request-0001" },
  };
  // The answer may be lost with the process; the request is not.
  const submitted = first.call("POST", "/api/agent/runs", request).catch(() => undefined);
  await first.exited;
  await submitted;

  const second = await startMortal(options);
  const { body } = await second.call("POST", "/api/agent/runs", request);
  const runId: string = body.run_id;
  const result = await waitForResult(second, runId);
  expect(result, step).toMatchObject({ status: "completed", output: "Done.", error: null, request_id: "request-0001" });
  const { ids, types } = await second.follow(runId, 0);
  expect(ids, step).toEqual(ids.map((_, index) => index + 1));
  expect(types.indexOf("end"), step).toBe(types.length - 1);
  const { body: page } = await second.call("GET", `/api/agent/runs/${runId}/events?format=json&limit=500`);
  const names = page.events.map(({ payload }: { payload: { name?: string } }) => payload.name);
  expect(
    names.filter((name: unknown) => name === "svc.turn"),
    step,
  ).toHaveLength(1);
  const { body: turns } = await turnd.request("GET", "/v1/turns");
  expect(
    turns.turns.map(({ request_id }: { request_id: string }) => request_id),
    step,
  ).toEqual([runId]);
  expect((await second.call("GET", `/api/agent/runs/${runId}`)).body.run.attempt, step).toBe(2);
  second.kill("SIGTERM");
  await second.exited;
}

async function waitForResult(service: Mortal, runId: string): Promise<Answer["body"]> {
  return waitFor(
    "the run's end",
    async () => {
      const { body } = await service.call("GET", `/api/agent/runs/${runId}/result`);
      return body.final === true ? body : undefined;
    },
    120_000,
  );
}

test("of two processes on PostgreSQL one is killed in the middle of runs, and the other ends them all", async () => {
  const turnd = await fakeDaemon({ TURND_MAX_TURNS: "8" });
  const database = await freshDatabase("postgres");
  if (database.kind !== "postgres") throw new Error("another engine");
  const options = { directory: temporaryDirectory(onTestFinished), turndUrl: turnd.url, databaseUrl: database.url };
  const [first, second] = await Promise.all([
    startMortal(options),
    startMortal({ ...options, directory: temporaryDirectory(onTestFinished) }),
  ]);
  const runIds: string[] = [];
  for (let thread = 0; thread < 6; thread += 1) {
    const { body: made } = await second.call("POST", "/api/chat/thread", { agent_id: "cli-b" });
    const { body } = await second.call("POST", "/api/agent/runs", {
      agent_slug: "cli-b",
      thread_id: made.id,
      query: "paced 40 0.1\nDone.",
    });
    runIds.push(body.run_id);
  }
  await waitFor("all run", async () => {
    const { body } = await second.call("GET", "/api/agent/runs?status=running");
    return body.runs.length === runIds.length;
  });
  first.kill("SIGKILL");
  for (const runId of runIds) {
    expect(await waitForResult(second, runId)).toMatchObject({ status: "completed", output: "Done." });
    const { ids, types } = await second.follow(runId, 0);
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    expect(types.filter((type) => type === "end")).toHaveLength(1);
  }
  const { body: turns } = await turnd.request("GET", "/v1/turns");
  expect(turns.turns).toHaveLength(runIds.length);
});
