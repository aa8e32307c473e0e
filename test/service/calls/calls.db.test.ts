import { expect, test } from "vitest";
import { waitFor } from "../../harness/wait-for.ts";
import { shareService } from "../harness/service.ts";

const open = shareService();

const CALL = "/api/agent-invocation/agent-call/runs";
const EVAL = "/api/agent-invocation/eval/runs";
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("a synchronous call waits, answers as OpenAI does, and is the same when repeated", async () => {
  const { service } = await open();
  const body = {
    agent_slug: "cli-b",
    request_id: "call-0001",
    temperature: 0.2,
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "Hello." },
          { type: "text", text: "Done." },
        ],
      },
      { role: "assistant", content: null, tool_calls: [] },
    ],
  };
  const first = await service.call("POST", CALL, body);
  expect(first).toMatchObject({
    status: 200,
    body: {
      agent_slug: "cli-b",
      request_id: "call-0001",
      status: "completed",
      output: "Done.",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Done." },
          messages: [{ content: "Done." }],
          finish_reason: "stop",
        },
      ],
      usage: { total_tokens: 15 },
    },
  });
  expect(first.body.thread_id).toMatch(/^invocation_[0-9a-f]{40}$/);
  expect(first.body.agent_run_id).toBe(first.body.run_id);
  expect((await service.call("POST", CALL, body)).body).toEqual(first.body);
  expect((await service.call("POST", `${CALL}/result`, { run_id: first.body.run_id })).body).toEqual(first.body);
  expect(
    (await service.call("POST", `${CALL}/result`, { run_id: first.body.run_id, agent_slug: "cli-a" })).body.detail.code,
  ).toBe("agent_mismatch");
  expect((await service.call("POST", `${CALL}/result`, { run_id: "nothing" })).status).toBe(404);
  expect((await service.call("POST", `${CALL}/result`, { run_id: "" })).status).toBe(422);
});

test("a busy thread rejects a synchronous call and queues an asynchronous one; too long a wait is 504 and the run goes on", async () => {
  const { service } = await open();
  const call = (text: string, more: Record<string, unknown> = {}) =>
    service.call("POST", CALL, {
      agent_slug: "cli-b",
      thread_id: "mine",
      messages: [{ role: "user", content: text }],
      ...more,
    });
  const late = await call("sleep 3\nLate.", { wait_seconds: 1 });
  expect(late).toMatchObject({
    status: 504,
    body: { detail: { code: "run_timeout", run: { agent_run_id: expect.any(String), final: false } } },
  });
  const runId: string = late.body.detail.run.agent_run_id;
  expect(late.headers.get("location")).toBe(`/api/agent/runs/${runId}/result`);
  const busy = await call("x");
  expect(busy).toMatchObject({
    status: 200,
    body: { run_id: null, status: "rejected", error: { type: "thread_busy", active_run_id: runId } },
  });
  expect(busy.headers.get("retry-after")).toBe("5");
  const queued = await call("Next.", { async_mode: true });
  expect(queued.body).toMatchObject({
    run_id: null,
    status: "queued",
    output: "",
    choices: [{ finish_reason: null }],
    request_events_url: expect.any(String),
  });
  expect(await service.result(runId)).toMatchObject({ output: "Late." });
  const nextId = await waitFor(
    "the next run",
    async () => (await service.call("GET", `/api/agent/requests/${queued.body.request_id}`)).body.request.run_id,
  );
  expect(await service.result(nextId)).toMatchObject({ output: "Next." });
  const free = await call("Alone.", { async_mode: true });
  expect(free.body).toMatchObject({ run_id: expect.any(String), stream_url: expect.any(String) });
  await service.result(free.body.run_id);
});

test("what a call cannot do is refused by name", async () => {
  const { service } = await open();
  const messages = [{ role: "user", content: "Hello." }];
  const image = (url: string) => [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }];
  const cases: [Record<string, unknown>, string][] = [
    [{ messages, stream: true }, "stream_unsupported"],
    [{ messages, agent_call_meta: { context: {} } }, "context_override"],
    [{ messages: [{ role: "system", content: "x" }] }, "no_user_message"],
    [{ messages: [{ role: "user", content: " " }] }, "query_required"],
    [{ messages: [{ role: "user", content: [{ type: "audio", audio: {} }] }] }, "content_part_unsupported"],
    [{ messages: [{ role: "user", content: [{ type: "input_audio" }] }, ...messages] }, "content_part_unsupported"],
    [{ messages: image("https://example.com/a.png") }, "content_part_unsupported"],
    [{ messages: image(`data:image/png;base64,${Buffer.from("no image").toString("base64")}`) }, "image_invalid"],
    [{ messages, queue_policy: "enqueue" }, "queue_policy_inapplicable"],
    [{ messages, async_mode: true, queue_policy: "steer" }, "queue_policy_inapplicable"],
    [{ messages, model_spec: "no-colon" }, "model_unknown"],
    [{ messages, agent_slug: undefined }, "agent_slug_required"],
  ];
  for (const [body, code] of cases) {
    const answer = await service.call("POST", CALL, { agent_slug: "cli-b", ...body });
    expect([answer.status, answer.body.detail.code]).toEqual([422, code]);
    expect(answer.body.detail.loc[0]).toBe("body");
  }
  expect((await service.call("POST", CALL, { agent_slug: "cli-b", messages: [] })).body.detail[0].loc).toEqual([
    "body",
    "messages",
  ]);
  expect((await service.call("POST", CALL, { agent_slug: "missing", messages })).body.detail.code).toBe(
    "agent_not_found",
  );
  const seen = await service.call("POST", CALL, {
    agent_slug: "cli-b",
    messages: image(`data:image/png;base64,${PNG}`),
  });
  expect(seen.body).toMatchObject({ status: "completed", output: "See the attached image." });
});

test("an evaluation answers its result, its link and what the run did", async () => {
  const { service } = await open();
  const evaluation = { dataset_name: "set", dataset_item_id: "7", experiment_name: "first" };
  const { status, body } = await service.call("POST", EVAL, {
    agent_slug: "cli-b",
    query: "tool ls\ntool cat\nDone.",
    evaluation,
    include_trajectory_summary: true,
    meta: { request_id: "eval-0001" },
  });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    request_id: "eval-0001",
    status: "completed",
    final: true,
    output: "Done.",
    evaluation,
    trajectory_summary: {
      source: "run_events",
      events_truncated: false,
      event_count: body.last_seq,
      event_range: { first_seq: 1, last_seq: body.last_seq },
      tool_call_count: 2,
      tool_error_count: 0,
      error_count: 0,
      tools: [{ call_count: 2, error_count: 0 }],
    },
  });
  expect((await service.events(body.run_id))[0]?.data.payload).toMatchObject({ source: "evaluation", evaluation });
  const many = await service.call("POST", EVAL, {
    agent_slug: "cli-b",
    query: "burst 600",
    include_trajectory_summary: true,
  });
  expect(many.body.trajectory_summary).toMatchObject({
    event_count: 500,
    events_truncated: true,
    event_range: { last_seq: 500 },
  });
  expect(many.body).not.toHaveProperty("evaluation");
});
