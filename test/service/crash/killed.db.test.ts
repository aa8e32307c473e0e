import { describe, expect, onTestFinished, test } from "vitest";
import type { AttemptStep } from "../../../src/service/runs/attempt-context.ts";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { startMortal } from "../harness/mortal.ts";
import { ENGINES, freshDatabase } from "../harness/storage.ts";

const STEPS: readonly AttemptStep[] = ["claimed", "sandbox", "turn", "ended"];

describe.each(ENGINES)("%s", (kind) => {
  test.each(STEPS)("killed at the step %s, the run goes on: one turn, no gap, one end", async (step) => {
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
      query: "paced 5 0.02\nDone.",
      meta: { request_id: "request-0001" },
    };
    // The answer may be lost with the process; the request is not.
    const submitted = first.call("POST", "/api/agent/runs", request).catch(() => undefined);
    await first.exited;
    await submitted;

    const second = await startMortal(options);
    const { body } = await second.call("POST", "/api/agent/runs", request);
    const runId: string = body.run_id;
    const result = await waitFor("the end", async () => {
      const answer = await second.call("GET", `/api/agent/runs/${runId}/result`);
      return answer.body.final === true ? answer.body : undefined;
    });
    expect(result).toMatchObject({ status: "completed", output: "Done.", error: null });
    const { ids, types } = await second.follow(runId, 0);
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    expect(types.filter((type) => type === "end")).toHaveLength(1);
    expect(types.at(-1)).toBe("end");
    const { body: turns } = await turnd.request("GET", "/v1/turns");
    expect(turns.turns.map(({ request_id }: { request_id: string }) => request_id)).toEqual([runId]);
    expect((await second.call("GET", `/api/agent/runs/${runId}`)).body.run.attempt).toBe(2);
    second.kill("SIGTERM");
    await second.exited;
  });
});

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
    const result = await waitFor("the end", async () => {
      const { body } = await second.call("GET", `/api/agent/runs/${runId}/result`);
      return body.final === true ? body : undefined;
    });
    expect(result).toMatchObject({ status: "completed", output: "Done." });
    const { ids, types } = await second.follow(runId, 0);
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    expect(types.filter((type) => type === "end")).toHaveLength(1);
  }
  const { body: turns } = await turnd.request("GET", "/v1/turns");
  expect(turns.turns).toHaveLength(runIds.length);
});
