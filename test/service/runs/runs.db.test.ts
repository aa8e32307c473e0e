import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { ENGINES } from "../harness/storage.ts";
import { freshService, shareService } from "../harness/service.ts";

describe.each(ENGINES)("%s", (kind) => {
  test("a run is submitted, followed and its result read; the same request is the same run", async () => {
    const service = await freshService(kind, { turndUrl: (await fakeDaemon()).url });
    const thread = await service.thread();
    const body = {
      agent_slug: "cli-b",
      thread_id: thread,
      query: "tool ls\nDone.",
      meta: { request_id: "request-0001", note: "x" },
    };
    const first = await service.call("POST", "/api/agent/runs", body);
    expect(first).toMatchObject({
      status: 200,
      body: { request_id: "request-0001", thread_id: thread, status: "dispatched", queue_policy: "enqueue" },
    });
    const { run_id: runId, stream_url: streamUrl } = first.body;
    expect(streamUrl).toBe(`/api/agent/runs/${runId}/events`);
    const events = await service.events(runId);
    expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, index) => index + 1));
    expect(events[0]).toMatchObject({
      event: "metadata",
      data: {
        schema_version: 1,
        seq: 1,
        run_id: runId,
        thread_id: thread,
        payload: { run_type: "chat", agent_slug: "cli-b" },
      },
    });
    expect(events.at(-1)).toMatchObject({
      event: "end",
      data: { payload: { status: "completed", events: events.length, degraded: false } },
    });
    const items = events.filter(({ event }) => event === "messages").flatMap(({ data }) => data.payload.items);
    expect(items.map(({ type }: { type: string }) => type)).toEqual(["tool_call", "tool_result", "message"]);
    expect(await service.result(runId)).toMatchObject({
      run_id: runId,
      agent_run_id: runId,
      status: "completed",
      final: true,
      output: "Done.",
      error: null,
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      last_seq: events.length,
    });
    const again = await service.call("POST", "/api/agent/runs", body);
    expect(again.body).toMatchObject({ run_id: runId, run_status: "completed" });
    expect((await service.call("POST", "/api/agent/runs", { ...body, query: "other" })).body.detail.code).toBe(
      "request_id_conflict",
    );
    expect((await service.call("GET", `/api/agent/requests/request-0001`)).body.request).toMatchObject({
      status: "dispatched",
      run_id: runId,
      run_status: "completed",
    });
    const slim = await service.events(runId, "?verbose=false&after_seq=1");
    expect(slim.map(({ id }) => id)).toEqual(events.slice(1).map(({ id }) => id));
    expect(slim.some(({ data }) => "native" in data)).toBe(false);
    expect((await service.call("GET", `${streamUrl}?format=json&after_seq=2&limit=1`)).body).toMatchObject({
      events: [{ seq: 3 }],
      has_more: true,
      ended: true,
    });
    expect(
      (await service.call("GET", `${streamUrl}?after_seq=${events.length}`, undefined, { accept: "text/event-stream" }))
        .status,
    ).toBe(204);
    expect((await service.call("GET", `${streamUrl}?after_seq=${events.length + 1}`)).status).toBe(416);
    expect((await service.call("GET", `${streamUrl}?after_seq=${"9".repeat(40)}`)).body.detail.code).toBe(
      "cursor_beyond_end",
    );
    expect((await service.call("GET", `${streamUrl}?after_seq=-1`)).body.detail.code).toBe("bad_cursor");
    expect((await service.call("GET", `/api/chat/thread/${thread}/history`)).body.messages).toMatchObject([
      { role: "user", content: "tool ls\nDone." },
      { role: "assistant", content: "Done." },
    ]);
  });
});

const open = shareService();

test("twenty times the same request at once is one run", async () => {
  const { service } = await open();
  const thread = await service.thread();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => service.submit(thread, "Hello.", { meta: { request_id: "request-0001" } })),
  );
  expect(new Set(answers.map(({ run_id }) => run_id)).size).toBe(1);
  expect((await service.call("GET", "/api/agent/runs")).body.runs).toHaveLength(1);
  await service.result(answers[0].run_id);
});

test("a thread runs one after the other; what is busy is rejected; a failure pauses until it is continued", async () => {
  const { service } = await open();
  const thread = await service.thread();
  const first = await service.submit(thread, "sleep 0.3\nexit 3");
  const second = await service.submit(thread, "Second.", { meta: { request_id: "second-1" } });
  const third = await service.submit(thread, "Third.");
  expect([second, third]).toMatchObject([
    { run_id: null, status: "queued", queue_position: 1 },
    { status: "queued", queue_position: 2 },
  ]);
  const rejected = await service.call("POST", "/api/agent/runs", {
    agent_slug: "cli-b",
    thread_id: thread,
    query: "x",
    queue_policy: "reject",
  });
  expect(rejected).toMatchObject({
    status: 200,
    body: { status: "rejected", run_id: null, error: { code: "thread_busy", active_run_id: first.run_id } },
  });
  expect(rejected.headers.get("retry-after")).toBe("5");
  expect(await service.result(first.run_id)).toMatchObject({
    status: "failed",
    error: { type: expect.any(String), message: expect.any(String) },
  });
  const failed = await service.events(first.run_id);
  expect(failed.slice(-2).map(({ event }) => event)).toEqual(["error", "end"]);
  expect((await service.call("GET", `/api/agent/thread/${thread}/requests`)).body).toMatchObject({
    requests: [{ content: "Second." }, { content: "Third." }],
    queue: { status: "paused", paused_reason: "run_failed", can_continue: true },
  });
  const { body } = await service.call("POST", `/api/agent/thread/${thread}/requests/continue`);
  expect(body).toMatchObject({ status: "dispatched", request_id: "second-1" });
  expect(await service.result(body.run_id)).toMatchObject({ output: "Second." });
  const thirdRun = await waitFor(
    "the third run",
    async () => (await service.call("GET", `/api/agent/requests/${third.request_id}`)).body.request.run_id,
  );
  expect(await service.result(thirdRun)).toMatchObject({ output: "Third." });
  expect((await service.call("POST", `/api/agent/thread/${thread}/requests/continue`)).body.detail.code).toBe(
    "queue_empty",
  );
});

test("a cancel ends a running run by its turn, a waiting request at once, and an ended run not at all", async () => {
  const { service } = await open();
  const thread = await service.thread();
  const { run_id: runId } = await service.submit(thread, "before\nhang");
  const queued = await service.submit(thread, "Later.");
  await waitFor(
    "the turn",
    async () => (await service.call("GET", `/api/agent/runs/${runId}/events?format=json`)).body.last_seq > 3,
  );
  expect((await service.call("POST", `/api/agent/requests/${queued.request_id}/cancel`)).body).toMatchObject({
    status: "cancelled",
  });
  expect((await service.call("POST", `/api/agent/runs/${runId}/cancel`)).body.run.status).toMatch(/^cancel/);
  expect(await service.result(runId)).toMatchObject({ status: "cancelled", error: null });
  expect((await service.events(runId)).at(-1)).toMatchObject({
    event: "end",
    data: { payload: { status: "cancelled", reason: "cancelled_by_user" } },
  });
  expect((await service.call("POST", `/api/agent/runs/${runId}/cancel`)).body.run.status).toBe("cancelled");
  expect((await service.call("GET", `/api/chat/thread/${thread}`)).body.status).toBe("idle");
});

test("a steer turns the running run: that ends completed, steered, and the steer goes on", async () => {
  const { service } = await open();
  const thread = await service.thread();
  const { run_id: runId } = await service.submit(thread, `before\n${"tool ls\nsleep 0.1\n".repeat(100)}`);
  await waitFor(
    "the turn",
    async () => (await service.call("GET", `/api/agent/runs/${runId}`)).body.run.status === "running",
  );
  const steer = await service.submit(thread, "Other way.", { queue_policy: "steer" });
  expect(steer).toMatchObject({ status: "queued", queue_policy: "steer", queue_position: 1 });
  expect(
    (
      await service.call("POST", "/api/agent/runs", {
        agent_slug: "cli-b",
        thread_id: thread,
        query: "x",
        queue_policy: "steer",
      })
    ).body.detail.code,
  ).toBe("steer_already_pending");
  expect(await service.result(runId)).toMatchObject({ status: "completed" });
  expect((await service.events(runId)).at(-1)).toMatchObject({
    data: { payload: { status: "completed", reason: "steered" } },
  });
  const { body } = await service.call("GET", `/api/agent/requests/${steer.request_id}`);
  expect(await service.result(body.request.run_id)).toMatchObject({ status: "completed", output: "Other way." });
});

test("a plan waits for its approval; approved it is carried out, rejected with a word planned again, without one dropped", async () => {
  const { service } = await open();
  const thread = await service.thread("cli-b-plan");
  const submit = (more: Record<string, unknown>) =>
    service.call("POST", "/api/agent/runs", { agent_slug: "cli-b-plan", thread_id: thread, ...more });
  const plan = await service.result((await submit({ query: "The plan." })).body.run_id);
  expect(plan).toMatchObject({
    status: "interrupted",
    output: "The plan.",
    interrupt: { reason: "human_approval", plan: { text: "The plan." } },
  });
  expect((await submit({ query: "x" })).body.detail).toMatchObject({
    code: "run_interrupted",
    blocking_run_id: plan.run_id,
  });
  const resume = {
    created_by_run_id: plan.run_id,
    resume: { decisions: [{ type: "reject", message: "Another plan." }] },
  };
  expect((await submit({ ...resume, resume: { decisions: [] } })).body.detail.code).toBe("resume_invalid");
  const second = await submit(resume);
  expect((await submit(resume)).body.run_id).toBe(second.body.run_id);
  expect((await submit({ ...resume, resume: { decisions: [{ type: "approve" }] } })).body.detail.code).toBe(
    "resume_superseded",
  );
  const again = await service.result(second.body.run_id);
  expect(again).toMatchObject({ status: "interrupted", output: "Another plan." });
  const done = await service.result(
    (await submit({ created_by_run_id: again.run_id, resume: { decisions: [{ type: "approve", message: "Go." }] } }))
      .body.run_id,
  );
  expect(done).toMatchObject({ status: "completed", output: "Go." });
  const third = await service.result((await submit({ query: "A third plan." })).body.run_id);
  const dropped = (await submit({ created_by_run_id: third.run_id, resume: { decisions: [{ type: "reject" }] } })).body;
  expect(await service.result(dropped.run_id)).toMatchObject({ status: "completed", output: "" });
  expect((await service.events(dropped.run_id)).at(-1)).toMatchObject({
    data: { payload: { reason: "rejected_plan" } },
  });
  expect(
    (await submit({ created_by_run_id: dropped.run_id, resume: { decisions: [{ type: "approve" }] } })).body.detail
      .code,
  ).toBe("run_not_interrupted");
});

test("the stream of a waiting request reports when it has a run", async () => {
  const { service } = await open();
  const thread = await service.thread();
  await service.submit(thread, "sleep 0.5\nFirst.");
  const queued = await service.submit(thread, "Second.");
  const { text } = await service.call("GET", queued.request_events_url);
  expect(text).toContain("event: queued");
  expect(text).toContain("event: run_created");
  const { body } = await service.call("GET", `/api/agent/requests/${queued.request_id}`);
  expect(text).toContain(body.request.run_id);
  await service.result(body.request.run_id);
});

test("what is another's is not there", async () => {
  const { service } = await open();
  const thread = await service.thread();
  const { run_id: runId, request_id: requestId } = await service.submit(thread, "Mine.");
  await service.result(runId);
  await service.call("POST", "/api/auth/users", { username: "other", password: "correct horse battery" });
  const { body } = await service.call("POST", "/api/auth/token", {
    username: "other",
    password: "correct horse battery",
  });
  const as = { authorization: `Bearer ${body.access_token}` };
  for (const path of [
    `/api/agent/runs/${runId}`,
    `/api/agent/runs/${runId}/events`,
    `/api/agent/runs/${runId}/result`,
    `/api/agent/requests/${requestId}`,
    `/api/chat/thread/${thread}`,
    `/api/chat/thread/${thread}/history`,
  ]) {
    expect((await service.call("GET", path, undefined, as)).status).toBe(404);
  }
  expect((await service.call("POST", `/api/agent/runs/${runId}/cancel`, undefined, as)).status).toBe(404);
  expect(
    (await service.call("POST", "/api/agent/runs", { agent_slug: "cli-b", thread_id: thread, query: "x" }, as)).body
      .detail.code,
  ).toBe("thread_not_found");
});
