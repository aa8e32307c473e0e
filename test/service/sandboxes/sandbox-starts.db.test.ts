import { expect, onTestFinished, test } from "vitest";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { oneTurnd } from "../harness/one-turnd.ts";
import { startTestService, type TestService } from "../harness/service.ts";
import { freshDatabase } from "../harness/storage.ts";

/** Services one after another on one database, with sandboxes that a test may break. */
async function setUp(env: Readonly<Record<string, string>> = {}) {
  const turnd = await fakeDaemon();
  const sandboxes = oneTurnd(turnd.url);
  const database = await freshDatabase("postgres");
  const options = {
    directory: temporaryDirectory(onTestFinished),
    turndUrl: turnd.url,
    databaseUrl: database.kind === "postgres" ? database.url : undefined,
    createSandboxes: sandboxes.createSandboxes,
    env,
  };
  const turns = async () => (await turnd.request("GET", "/v1/turns")).body.turns;
  return { turnd, sandboxes, turns, start: () => startTestService(options) };
}

const isRunning = (service: TestService, runId: string) =>
  waitFor("the turn", async () => (await service.call("GET", `/api/agent/runs/${runId}`)).body.run.last_seq > 2);

test("a run that was begun and whose sandbox does not start again is executor_lost, and not retryable", async () => {
  const { sandboxes, start, turns } = await setUp({ SERVICE_EXECUTOR_LOST_MS: "2000" });
  const first = await start();
  const { run_id: runId } = await first.submit(await first.thread(), "before\nhang");
  await isRunning(first, runId);
  await first.stop();
  sandboxes.isGone = true;
  sandboxes.fault = "no such image";
  const second = await start();
  expect(await second.result(runId)).toMatchObject({
    status: "failed",
    error: { type: "executor_lost", retryable: false, user_action: "operator" },
  });
  expect(await turns()).toHaveLength(1);
});

test("a cancel during the start of a sandbox ends the run at once, without a turn, and the start goes on", async () => {
  const { sandboxes, start, turns } = await setUp();
  const { promise, resolve } = Promise.withResolvers<void>();
  sandboxes.held = promise;
  const service = await start();
  const thread = await service.thread();
  const { run_id: runId } = await service.submit(thread, "Never.");
  await waitFor("the start", () => sandboxes.launches === 1);
  await service.call("POST", `/api/agent/runs/${runId}/cancel`);
  expect(await service.result(runId)).toMatchObject({ status: "cancelled", error: null });
  const events = await service.events(runId);
  expect(events.at(-1)?.data.payload).toMatchObject({ status: "cancelled", reason: "cancelled_by_user" });
  resolve();
  const next = await service.submit(thread, "Next.");
  expect(await service.result(next.run_id)).toMatchObject({ status: "completed", output: "Next." });
  expect(sandboxes.launches).toBe(1);
  expect(await turns()).toMatchObject([{ request_id: next.run_id }]);
});
