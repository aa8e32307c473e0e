import { describe, expect, test, vi } from "vitest";
import type { AttemptStep } from "../../../src/service/runs/work/attempt-context.ts";
import type { TestDaemon } from "../../harness/daemon.ts";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { expectWholeStream, makeSite, turnsOf } from "../harness/killable.ts";
import { ENGINES, type EngineKind } from "../harness/storage.ts";

/** Every step on PostgreSQL. PGlite differs in how a job is taken over alone: once before the turn's end, once after. */
const STEPS: Readonly<Record<EngineKind, readonly AttemptStep[]>> = {
  pglite: ["turn", "ended"],
  postgres: ["claimed", "sandbox", "turn", "following", "ended"],
};

vi.setConfig({ testTimeout: 240_000 });

describe.each(ENGINES)("%s", (kind) => {
  // All at once: on PostgreSQL each of them waits for a lease.
  test(`killed at the step ${STEPS[kind].join(", or ")}, the run goes on: one turn, no gap, one end`, async () => {
    const turnd = await fakeDaemon();
    const runIds = await Promise.all(STEPS[kind].map((step) => expectWholeWhenKilledAt(step, kind, turnd)));
    expect((await turnsOf(turnd)).toSorted()).toEqual(runIds.toSorted());
  });
});

/** @returns the id of the run */
async function expectWholeWhenKilledAt(step: AttemptStep, kind: EngineKind, turnd: TestDaemon): Promise<string> {
  const site = await makeSite(kind, turnd.url);
  const first = await site.start({ KILLABLE_STEP: step });
  const request = {
    agent_slug: "cli-b",
    thread_id: await first.thread("thread-0001"),
    query: "tool ls\nsleep 0.2\nDone.",
    meta: { request_id: "request-0001" },
  };
  // The answer may be lost with the process; the request is not.
  const submitted = first.call("POST", "/api/agent/runs", request).catch(() => undefined);
  await first.exited;
  await submitted;

  const second = await site.start();
  const { body } = await second.call("POST", "/api/agent/runs", request);
  const runId: string = body.run_id;
  const result = await second.result(runId);
  expect(result, step).toMatchObject({ status: "completed", output: "Done.", error: null, request_id: "request-0001" });
  await expectWholeStream(second, runId, step);
  const { body: page } = await second.call("GET", `/api/agent/runs/${runId}/events?format=json&limit=500`);
  const names = page.events.map(({ payload }: { payload: { name?: string } }) => payload.name);
  expect(
    names.filter((name: unknown) => name === "svc.turn"),
    step,
  ).toHaveLength(1);
  expect((await second.call("GET", `/api/agent/runs/${runId}`)).body.run.attempt, step).toBe(2);
  second.kill("SIGTERM");
  await second.exited;
  return runId;
}

test("of two processes on PostgreSQL one is killed in the middle of runs, and the other ends them all", async () => {
  const turnd = await fakeDaemon({ TURND_MAX_TURNS: "8" });
  const site = await makeSite("postgres", turnd.url);
  const [first, second] = await Promise.all([site.start(), site.start()]);
  const runIds: string[] = [];
  for (let thread = 0; thread < 6; thread += 1) {
    const { body } = await second.call("POST", "/api/agent/runs", {
      agent_slug: "cli-b",
      thread_id: await second.thread(),
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
    expect(await second.result(runId)).toMatchObject({ status: "completed", output: "Done." });
    await expectWholeStream(second, runId, runId);
  }
  expect(await turnsOf(turnd)).toHaveLength(runIds.length);
});
