import { expect, test, vi } from "vitest";
import { TurnAdmission, TurnList, TurnResult, TurnSnapshot } from "../../../../src/turnd/protocol/index.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { createTestApp, listen, problemOf } from "./test-app.ts";

function post(body: Record<string, unknown>, query = "", headers: Record<string, string> = {}) {
  const payload = { input: "hi", executor: "cli-b", ...body };
  return { method: "POST" as const, url: `/v1/turns${query}`, headers, payload };
}

function admissionOf(turnId: string): TurnAdmission {
  const urls = { events_url: `/v1/turns/${turnId}/events`, result_url: `/v1/turns/${turnId}/result` };
  const ids = { turn_id: turnId, request_id: "request-1", session_id: "session-1" };
  return { ...ids, ...urls, status: "running", queue_position: 0 };
}

test("a new turn is answered 202 with where to follow it, a repeat 200", async () => {
  const { app } = await createTestApp();
  const first = await app.inject(post({ request_id: "request-1" }));
  expect(first.statusCode).toBe(202);
  const admission = TurnAdmission.parse(first.json());
  expect(admission).toMatchObject({ status: "running", events_url: `/v1/turns/${admission.turn_id}/events` });
  const repeat = await app.inject(post({ request_id: "request-1" }));
  expect(repeat.statusCode).toBe(200);
  expect(TurnAdmission.parse(repeat.json()).turn_id).toBe(admission.turn_id);
});

test("the request reaches the service with its defaults", async () => {
  const { app, service } = await createTestApp();
  await app.inject(post({}));
  expect(service.admitted[0]?.request).toEqual({
    input: "hi",
    executor: "cli-b",
    mode: "execute",
    queue_policy: "enqueue",
    resume_policy: "continue",
  });
});

test("a well-formed traceparent is passed on as version 00, any other not", async () => {
  const { app, service } = await createTestApp();
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const headers = [
    `00-${trace}-00f067aa0ba902b7-01`,
    `cc-${trace}-00f067aa0ba902b7-01-what-comes-later`,
    `ff-${trace}-00f067aa0ba902b7-01`,
    `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
    `00-${trace}-${"0".repeat(16)}-01`,
    `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`,
    "nonsense",
  ];
  for (const traceparent of headers) await app.inject(post({}, "", { traceparent }));
  await app.inject(post({}));
  expect(service.admitted.map(({ traceparent }) => traceparent)).toEqual([
    headers[0],
    headers[0],
    ...Array(6).fill(undefined),
  ]);
});

test("wait_ms answers the result of a turn that ends in time", async () => {
  const { app, service } = await createTestApp();
  const turn = service.addTurn();
  vi.spyOn(service, "admit").mockResolvedValue({ admission: admissionOf(turn.id), isRepeat: false });
  const wait = vi.spyOn(service, "waitForEnd");
  const answer = app.inject(post({}, "?wait_ms=60000"));
  await waitFor("the request to wait", () => wait.mock.calls.length > 0);
  turn.end();
  const response = await answer;
  expect(response.statusCode).toBe(200);
  expect(TurnResult.parse(response.json())).toMatchObject({ turn_id: turn.id, output: `done ${turn.id}` });
});

test("wait_ms answers 202 with the turn as it stands when it has not ended: nothing for a proxy to send again", async () => {
  const { app } = await createTestApp();
  const response = await app.inject(post({}, "?wait_ms=1"));
  expect(response.statusCode).toBe(202);
  expect(TurnSnapshot.parse(response.json())).toMatchObject({ turn_id: "turn-1", status: "running" });
});

test("a client that leaves ends its wait, and the turn goes on", async () => {
  const { app, service } = await createTestApp();
  const wait = vi.spyOn(service, "waitForEnd");
  const { url } = await listen(app);
  const client = new AbortController();
  const asked = fetch(`${url}/v1/turns?wait_ms=60000`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: "hi", executor: "cli-b" }),
    signal: client.signal,
  });
  await waitFor("the request to wait", () => wait.mock.calls.length > 0);
  client.abort();
  await expect(asked).rejects.toThrow();
  await waitFor("the wait to end", () => wait.mock.calls[0]?.[1].aborted);
  expect(service.getTurn("turn-1").status).toBe("running");
  await app.close();
});

test("refusals of the service keep their status, extras and Retry-After", async () => {
  const { app } = await createTestApp();
  const busy = await app.inject(post({ queue_policy: "reject" }));
  expect(busy.statusCode).toBe(409);
  expect(problemOf(busy).code).toBe("session_busy");
  const full = await app.inject(post({ queue_policy: "steer" }));
  expect(full.statusCode).toBe(429);
  expect(problemOf(full).code).toBe("queue_full");
  expect(full.headers["retry-after"]).toBe("5");
});

test("turns are listed, looked at and found by request", async () => {
  const { app, service } = await createTestApp();
  service.addTurn("turn:with:colons").end();
  await app.inject(post({ request_id: "request:1" }));
  const list = TurnList.parse((await app.inject("/v1/turns?status=running&limit=5")).json());
  expect(list.turns.map((turn) => turn.status)).toEqual(["running"]);
  const one = TurnSnapshot.parse((await app.inject("/v1/turns/turn%3Awith%3Acolons")).json());
  expect(one.turn_id).toBe("turn:with:colons");
  const found = TurnSnapshot.parse((await app.inject("/v1/requests/request%3A1")).json());
  expect(found.turn_id).toBe(list.turns[0]?.turn_id);
});

test("the refusal of an unknown id names what it was of", async () => {
  const { app } = await createTestApp();
  const codes = {
    "/v1/turns/nope": "turn_not_found",
    "/v1/turns/nope/events": "turn_not_found",
    "/v1/turns/nope/result": "turn_not_found",
    "/v1/requests/nope": "request_not_found",
    "/v1/sessions/nope": "session_not_found",
    "/v1/executors/nope": "executor_not_found",
  };
  for (const [url, code] of Object.entries(codes)) {
    const response = await app.inject(url);
    expect(response.statusCode).toBe(404);
    expect(problemOf(response).code).toBe(code);
  }
});

test("a result is there after the end, and turn_not_ended before it", async () => {
  const { app, service } = await createTestApp();
  const turn = service.addTurn();
  const early = await app.inject(`/v1/turns/${turn.id}/result`);
  expect(early.statusCode).toBe(409);
  expect(TurnSnapshot.parse(problemOf(early).turn).turn_id).toBe(turn.id);
  turn.end();
  const result = await app.inject(`/v1/turns/${turn.id}/result`);
  expect(TurnResult.parse(result.json()).status).toBe("completed");
});

test("a result names the rule that decided, and all that were tried when asked", async () => {
  const { app, service } = await createTestApp();
  const turn = service.addTurn();
  turn.end();
  const plain = await app.inject(`/v1/turns/${turn.id}/result`);
  expect(TurnResult.parse(plain.json()).decision).toMatchObject({ rule: "completed", verdict: "completed" });
  expect(plain.json().decision).not.toHaveProperty("tried");
  const explained = await app.inject(`/v1/turns/${turn.id}/result?explain=true`);
  expect(TurnResult.parse(explained.json()).decision.tried).toEqual([
    { rule: "completed", verdict: "completed", on: "record", outcome: "won" },
  ]);
  expect((await app.inject(`/v1/turns/${turn.id}/result?explain=please`)).statusCode).toBe(422);
});

test("cancel answers the receipt", async () => {
  const { app, service } = await createTestApp();
  const response = await app.inject({ method: "POST", url: `/v1/turns/${service.addTurn().id}/cancel` });
  expect(response.json()).toMatchObject({ status: "cancelled", already_ended: false });
});

test("while turnd is shutting down nothing is admitted and all else is answered", async () => {
  const { app, service } = await createTestApp({ isShuttingDown: () => true });
  for (const url of ["/v1/turns", "/v1/sessions"]) {
    const payload = { executor: "cli-b", ...(url === "/v1/turns" ? { input: "hi" } : {}) };
    const response = await app.inject({ method: "POST", url, payload });
    expect(response.statusCode).toBe(503);
    expect(problemOf(response).code).toBe("shutting_down");
    expect(response.headers["retry-after"]).toBeDefined();
  }
  expect(service.admitted).toEqual([]);
  expect((await app.inject("/v1/turns")).statusCode).toBe(200);
});
