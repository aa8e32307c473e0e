import { expect, test, vi } from "vitest";
import type { TestDaemon } from "../../../harness/daemon.ts";
import { fakeDaemon } from "../../../harness/fake-daemon.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { makeSite } from "../../harness/killable.ts";
import { freshService } from "../../harness/service.ts";

// A killed process's task waits for its lease, and all this runs on a loaded machine.
vi.setConfig({ testTimeout: 240_000 });

const STEPS = ["session", "rows", "purged"];

test("a deleted thread is gone with its runs, requests and session; its id and request ids stay taken", async () => {
  const turnd = await fakeDaemon();
  const service = await freshService("postgres", { turndUrl: turnd.url });
  const thread = await service.thread();
  const other = await service.thread();
  const ask = (threadId: string, query: string, requestId: string) => ({
    agent_slug: "cli-b",
    thread_id: threadId,
    query,
    meta: { request_id: requestId },
  });
  const { run_id: runId } = await service.submit(thread, "sleep 1\nexit 3", { meta: { request_id: "first-1" } });
  const waiting = await service.submit(thread, "Waits.", { meta: { request_id: "waits-1" } });
  const kept = await service.submit(other, "Stays.");
  const busy = await service.call("DELETE", `/api/chat/thread/${thread}`);
  expect(busy).toMatchObject({ status: 409, body: { detail: { code: "thread_busy", active_run_id: runId } } });
  await service.result(runId);
  await service.result(kept.run_id);
  expect((await turnd.request("GET", "/v1/sessions")).body.sessions).toHaveLength(2);

  for (const _ of [1, 2]) {
    expect(await service.call("DELETE", `/api/chat/thread/${thread}`)).toMatchObject({
      status: 200,
      body: { success: true },
    });
  }
  for (const path of [
    `/api/chat/thread/${thread}`,
    `/api/chat/thread/${thread}/history`,
    `/api/agent/runs/${runId}`,
    `/api/agent/runs/${runId}/result`,
    `/api/agent/runs/${runId}/events`,
    `/api/agent/requests/first-1`,
    `/api/agent/requests/${waiting.request_id}`,
  ]) {
    expect([path, (await service.call("GET", path)).status]).toEqual([path, 404]);
  }
  const task = await waitFor("the task's end", async () => {
    const { body } = await service.call("GET", "/api/tasks?kind=thread.delete");
    return body.tasks[0]?.completed_at === null ? undefined : body.tasks[0];
  });
  expect(task).toMatchObject({ status: "success", result: { runs: 1 }, error: null });
  expect((await turnd.request("GET", "/v1/sessions")).body.sessions).toHaveLength(1);
  // The same request is never run again, wherever it is sent.
  const again = await service.call("POST", "/api/agent/runs", ask(thread, "sleep 1\nexit 3", "first-1"));
  expect(again.body.detail.code).toBe("thread_not_found");
  const elsewhere = await service.call("POST", "/api/agent/runs", ask(other, "Other.", "first-1"));
  expect(elsewhere.body.detail.code).toBe("request_id_conflict");
  const call = { agent_slug: "cli-b", thread_id: thread, messages: [{ role: "user", content: "x" }] };
  expect((await service.call("POST", "/api/agent-invocation/agent-call/runs", call)).body.detail.code).toBe(
    "thread_not_found",
  );
  const { body: list } = await service.call("GET", "/api/agent/runs");
  expect(list.runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual([kept.run_id]);
  expect((await service.call("DELETE", "/api/chat/thread/never")).status).toBe(404);
  expect(await service.result(kept.run_id)).toMatchObject({ output: "Stays." });
});

test("another's thread is not there to delete, and an interrupted one waits for its answer", async () => {
  const service = await freshService("postgres", { turndUrl: (await fakeDaemon()).url });
  const thread = await service.thread("cli-b-plan");
  const { run_id: runId } = await service.submit(thread, "The plan.", { agent_slug: "cli-b-plan" });
  expect(await service.result(runId)).toMatchObject({ status: "interrupted" });
  const login = { username: "other", password: "correct horse battery" };
  await service.call("POST", "/api/auth/users", login);
  const { body } = await service.call("POST", "/api/auth/token", login);
  const as = { authorization: `Bearer ${body.access_token}` };
  expect((await service.call("DELETE", `/api/chat/thread/${thread}`, undefined, as)).status).toBe(404);
  expect((await service.call("DELETE", `/api/chat/thread/${thread}`)).body.detail.code).toBe("thread_busy");
  await service.call("POST", `/api/agent/runs/${runId}/cancel`);
  expect((await service.call("DELETE", `/api/chat/thread/${thread}`)).body).toEqual({ success: true });
});

// All at once: on PostgreSQL each of them waits for a lease.
test(`a deletion that is killed at the step ${STEPS.join(", or ")} goes on in the next process`, async () => {
  const turnd = await fakeDaemon();
  await Promise.all(STEPS.map((step) => expectDeletedWhenKilledAt(step, turnd)));
  expect((await turnd.request("GET", "/v1/sessions")).body.sessions).toEqual([]);
});

async function expectDeletedWhenKilledAt(step: string, turnd: TestDaemon): Promise<void> {
  const site = await makeSite("postgres", turnd.url);
  const first = await site.start({ KILLABLE_STEP: step });
  const threadId = await first.thread();
  const { body: run } = await first.call("POST", "/api/agent/runs", {
    agent_slug: "cli-b",
    thread_id: threadId,
    query: "Done.",
  });
  await first.result(run.run_id);
  // The answer may be lost with the process.
  await first.call("DELETE", `/api/chat/thread/${threadId}`).catch(() => undefined);
  await first.exited;

  const second = await site.start();
  expect((await second.call("DELETE", `/api/chat/thread/${threadId}`)).body, step).toEqual({ success: true });
  await waitFor("the task's end", async () => {
    const { body } = await second.call("GET", "/api/tasks?kind=thread.delete");
    expect(body.tasks, step).toHaveLength(1);
    return body.tasks[0].status === "success";
  });
}
