import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { startKillable } from "../harness/killable.ts";

// Four starts of a service on a loaded machine.
vi.setConfig({ testTimeout: 240_000 });

test("killed while a sandbox starts, before the turn and after it was begun: one turn, which is followed and can be cancelled", async () => {
  const turnd = await fakeDaemon();
  const directory = temporaryDirectory(onTestFinished);
  const start = (env: Readonly<Record<string, string>> = {}) =>
    startKillable({
      directory,
      turndUrl: turnd.url,
      databaseUrl: undefined,
      env: { KILLABLE_SANDBOXES: "pool", ...env },
    });
  const turns = async () => (await turnd.request("GET", "/v1/turns")).body.turns;

  const first = await start({ KILLABLE_STEP: "launch" });
  const { body: thread } = await first.call("POST", "/api/chat/thread", { agent_id: "cli-b" });
  const request = {
    agent_slug: "cli-b",
    thread_id: thread.id,
    query: "before\nhang",
    meta: { request_id: "request-0001" },
  };
  const submitted = first.call("POST", "/api/agent/runs", request).catch(() => undefined);
  await first.exited;
  await submitted;
  expect(await turns()).toEqual([]);

  // Its start is begun anew, without waiting for the one that was killed.
  const second = await start();
  const { body } = await second.call("POST", "/api/agent/runs", request);
  // Its events are being written: three attempts in a row that were killed without one would be the run's last.
  await waitFor(
    "the turn's events",
    async () => (await second.call("GET", `/api/agent/runs/${body.run_id}`)).body.run.last_seq > 2,
  );
  second.kill("SIGKILL");
  await second.exited;

  // It takes the run up at once, so it may die before it listens.
  const third = start({
    KILLABLE_STEP: "launch",
    KILLABLE_GONE: "true",
    KILLABLE_MARK: join(directory, "killed-again"),
  });
  await third.then(
    ({ exited }) => exited,
    () => undefined,
  );

  const last = await start({ KILLABLE_GONE: "true" });
  const run = async () => (await last.call("GET", `/api/agent/runs/${body.run_id}`)).body.run;
  expect(await run()).toMatchObject({ status: "running", error: null });
  await last.call("POST", `/api/agent/runs/${body.run_id}/cancel`);
  await waitFor("the end", async () => (await run()).status !== "cancel_requested", 120_000);
  expect(await run()).toMatchObject({ status: "cancelled", error: null, attempt: 4 });
  expect(await turns()).toMatchObject([{ request_id: body.run_id, status: "cancelled" }]);
  const { ids, types } = await last.follow(body.run_id, 0);
  expect(ids).toEqual(ids.map((_, index) => index + 1));
  expect(types.filter((type) => type === "end")).toHaveLength(1);
});
