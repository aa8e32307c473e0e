import { expect, onTestFinished, test } from "vitest";
import { openEngine } from "../../../src/service/storage/engine.ts";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { readStates, recordStates } from "../harness/record-states.ts";
import { startTestService } from "../harness/service.ts";
import { freshDatabase } from "../harness/storage.ts";

test("rows take the steps of docs/states.md and no other", async () => {
  const choice = await freshDatabase("postgres");
  const database = await openEngine(choice, { onConnectionLost: () => undefined });
  onTestFinished(() => database.close());
  await recordStates(database.db);
  const daemon = await fakeDaemon();
  const service = await startTestService({ turndUrl: daemon.url, databaseUrl: choice.url });

  const thread = await service.thread();
  const long = await service.submit(thread, "hang");
  const queued = await service.submit(thread, "Done.");
  const given = await service.submit(thread, "Done.");
  await service.submit(thread, "Done.", { queue_policy: "reject" });
  await service.call("POST", `/api/agent/requests/${given.request_id}/cancel`);
  await service.call("POST", `/api/agent/runs/${long.run_id}/cancel`);
  expect(await service.result(long.run_id)).toMatchObject({ status: "cancelled" });
  const { body: continued } = await service.call("POST", `/api/agent/thread/${thread}/requests/continue`);
  expect(continued.request_id).toBe(queued.request_id);
  expect(await service.result(continued.run_id)).toMatchObject({ status: "completed" });
  const broken = await service.submit(await service.thread(), "exit 3");
  expect(await service.result(broken.run_id)).toMatchObject({ status: "failed" });
  await service.call("POST", "/api/agents", {
    slug: "planner",
    name: "Planner",
    executor: "cli-b",
    mode: "plan_then_execute",
  });
  const { body: plan } = await service.call("POST", "/api/agent/runs", {
    agent_slug: "planner",
    thread_id: await service.thread("planner"),
    query: "a plan",
  });
  expect(await service.result(plan.run_id)).toMatchObject({ status: "interrupted" });

  const { seen, unknown } = await readStates(database.db);
  expect(unknown).toEqual([]);
  expect(seen).toEqual(
    expect.arrayContaining([
      "run: - -> pending",
      "run: cancel_requested -> cancelled",
      "run: pending -> running",
      "run: running -> cancel_requested",
      "run: running -> completed",
      "run: running -> failed",
      "run: running -> interrupted",
      "run_request: - -> queued",
      "run_request: - -> rejected",
      "run_request: queued -> cancelled",
      "run_request: queued -> dispatched",
    ]),
  );
});
