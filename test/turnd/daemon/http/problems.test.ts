import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createBareApp } from "../../../../src/turnd/daemon/http/bare-app.ts";
import { Problem, PROBLEM_STATUS, ProblemCode, ProblemError } from "../../../../src/turnd/protocol/index.ts";
import { createTestApp, listen, problemOf, TEST_SECRET } from "./test-app.ts";

const json = { "content-type": "application/json" };

function post(payload: string | Buffer, headers: Record<string, string> = json) {
  return { method: "POST" as const, url: "/v1/turns", headers, payload };
}

test("a body that is not JSON is invalid_json", async () => {
  const { app } = await createTestApp();
  for (const payload of ['{"input":', "nope", '{"__proto__":{}}', Buffer.from('{"input":"\xff"}', "latin1")]) {
    const response = await app.inject(post(payload));
    expect(response.statusCode).toBe(400);
    expect(problemOf(response).code).toBe("invalid_json");
  }
});

test("a missing or empty body is refused as such", async () => {
  const { app } = await createTestApp();
  for (const headers of [json, {}]) {
    const response = await app.inject({ method: "POST", url: "/v1/turns", headers });
    expect(response.statusCode).toBe(422);
    expect(problemOf(response).fields).toEqual([{ path: "body", message: expect.stringContaining("object") }]);
  }
});

test("a cancel with a content type and no body is accepted", async () => {
  const { app, service } = await createTestApp();
  const turn = service.addTurn();
  const response = await app.inject({ method: "POST", url: `/v1/turns/${turn.id}/cancel`, headers: json });
  expect(response.statusCode).toBe(200);
});

test("a number in a query has one form, its digits", async () => {
  const { app } = await createTestApp();
  for (const limit of ["0x1", "1e0", "%201", "01", "%2B1", "1.0", ""]) {
    const response = await app.inject({ url: `/v1/turns?limit=${limit}` });
    expect([limit, response.statusCode, problemOf(response).fields]).toMatchObject([
      limit,
      422,
      [{ path: "query.limit" }],
    ]);
  }
  expect((await app.inject({ url: "/v1/turns?limit=1" })).statusCode).toBe(200);
});

test("a number that is larger than a number can be is refused, not written as null", async () => {
  const { app } = await createTestApp();
  const response = await app.inject({
    method: "POST",
    url: "/v1/turns",
    headers: { "content-type": "application/json" },
    payload: '{"executor":"cli-b","input":"hi","output_schema":{"maximum":1e999}}',
  });
  expect([response.statusCode, problemOf(response).fields]).toMatchObject([422, [{ path: "output_schema" }]]);
});

test("a body that is not sent as plain JSON is unsupported_media_type", async () => {
  const { app } = await createTestApp();
  const bodies = [
    { "content-type": "text/plain" },
    { "content-type": "application/xml" },
    { "content-type": "nonsense" },
    { ...json, "content-encoding": "gzip" },
    {},
  ];
  for (const headers of bodies) {
    const response = await app.inject(post('{"input":"hi"}', headers));
    expect(response.statusCode).toBe(415);
    expect(problemOf(response).code).toBe("unsupported_media_type");
  }
});

test("a body beyond the limit is body_too_large and names the limit", async () => {
  const { app } = await createTestApp({ bodies: { long: 1_000, plain: 1_000, values: 20_000 } });
  const response = await app.inject(post(JSON.stringify({ input: "x".repeat(1_000) })));
  expect(response.statusCode).toBe(413);
  expect(problemOf(response)).toMatchObject({ code: "body_too_large", message: expect.stringContaining("1000") });
});

test("a route without images, texts or recordings takes 64 KiB, a login 16 KiB, and each names its limit", async () => {
  const { app } = await createTestApp();
  const ask = async (url: string, payload: string) => problemOf(await app.inject({ ...post(payload), url }));
  const padded = (bytes: number): string => `{"x":"${"x".repeat(bytes)}"}`;
  for (const [url, bytes] of [
    ["/v1/tickets", 65_536],
    ["/v1/shell/sessions", 65_536],
    ["/v1/turns/turn-1/cancel", 65_536],
    ["/inspector/session", 16_384],
    ["/v1/nothing", 16_384],
    ["/v1/sessions", 1_000_000],
  ] as const) {
    const message = `the body is larger than ${bytes} bytes`;
    expect(await ask(url, padded(bytes)), url).toMatchObject({ code: "body_too_large", message });
  }
});

test("a body of countless values or levels is body_too_large; a recording may have a value for each of its lines", async () => {
  const { app } = await createTestApp();
  const ask = async (url: string, payload: string) => problemOf(await app.inject({ ...post(payload), url }));
  const ones = (count: number): string => `[${"1,".repeat(count - 1)}1]`;
  const excess = { code: "body_too_large", message: "the body has more than 20000 values and names" };
  expect(await ask("/v1/turns", ones(20_000))).toMatchObject(excess);
  expect(await ask("/v1/tickets", ones(20_000))).toMatchObject(excess);
  expect(await ask("/v1/turns", ones(19_999))).toMatchObject({ code: "invalid_request" });
  expect(await ask("/v1/replays", ones(120_000))).toMatchObject({ code: "invalid_request" });
  expect(await ask("/v1/turns", "[".repeat(65) + "]".repeat(65))).toMatchObject({
    code: "body_too_large",
    message: "the body is nested deeper than 64",
  });
});

test("every field that does not fit is named", async () => {
  const { app } = await createTestApp();
  const body = { input: [{ type: "text", text: " " }, { type: "x" }], mode: "fly", foo: 1, "b/a.r": 2 };
  const response = await app.inject(post(JSON.stringify(body)));
  expect(response.statusCode).toBe(422);
  const problem = problemOf(response);
  expect(problem.code).toBe("invalid_request");
  expect(problem.message).toContain("input.0.text: must not be empty");
  expect(problem.fields?.map(({ path }) => path)).toEqual(["input.0.text", "input.1.type", "mode", "foo", "b/a.r"]);
  expect(problem.fields).toContainEqual({ path: "foo", message: "unknown field" });
});

test("the refusal of a value of a wrong kind names the kinds", async () => {
  const { app } = await createTestApp();
  const response = await app.inject(post(JSON.stringify({ input: 3, executor: "cli-a" })));
  expect(problemOf(response).fields).toEqual([{ path: "input", message: "Invalid input: expected string or array" }]);
});

test("countless wrong parts are refused as one field, and wrong ones by their number", async () => {
  const { app } = await createTestApp();
  const ask = async (input: unknown) => problemOf(await app.inject(post(JSON.stringify({ input, executor: "cli-a" }))));
  expect((await ask(Array.from({ length: 15_000 }, () => null))).fields).toEqual([
    { path: "input", message: "at most 1000 entries" },
  ]);
  expect((await ask([null, { type: "image" }])).fields?.map(({ path }) => path)).toEqual([
    "input.0",
    "input.1.data_url",
  ]);
});

test("a text beyond a MiB is refused as a field", async () => {
  const { app } = await createTestApp({ bodies: { long: 3_000_000, plain: 3_000_000, values: 20_000 } });
  const body = { input: "é".repeat(600_000), executor: "cli-a" };
  const response = await app.inject(post(JSON.stringify(body)));
  expect(problemOf(response).fields).toEqual([{ path: "input", message: expect.stringContaining("1048576") }]);
});

test("the answer to countless unknown fields stays small", async () => {
  const { app } = await createTestApp();
  const body = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`field${index}`, 1]));
  const response = await app.inject(post(JSON.stringify(body)));
  expect(problemOf(response).fields).toHaveLength(50);
});

test("queries and paths are validated, with where it went wrong", async () => {
  const { app } = await createTestApp();
  const query = await app.inject("/v1/turns?limit=0&status=odd&x=1");
  expect(query.statusCode).toBe(422);
  expect(problemOf(query).fields?.map(({ path }) => path)).toEqual(["query.status", "query.limit", "query.x"]);
  for (const limit of ["abc", "0", "1.5", "", "1001", "5&limit=6"]) {
    const refused = await app.inject(`/v1/turns?limit=${limit}`);
    expect([refused.statusCode, problemOf(refused).message]).toEqual([
      422,
      "query.limit: a whole number from 1 to 1000",
    ]);
  }
  const path = await app.inject("/v1/turns/a%2Fb");
  expect(path.statusCode).toBe(422);
  expect(problemOf(path).fields?.[0]?.path).toBe("path.turn_id");
});

test("what is not there is a problem, with the methods a path offers", async () => {
  const { app } = await createTestApp();
  const unknown = await app.inject("/v1/nothing?secret=1");
  expect(unknown.statusCode).toBe(404);
  expect(problemOf(unknown)).toMatchObject({ code: "route_not_found", message: expect.not.stringContaining("secret") });
  const method = await app.inject({ method: "DELETE", url: "/v1/turns" });
  expect(method.statusCode).toBe(404);
  expect(problemOf(method).message).toContain("GET and POST");
  expect(method.headers.allow).toBe("GET, POST");
  for (const url of ["/v1/turns/%zz", `/v1/turns/${"x".repeat(5_000)}`]) {
    const broken = await app.inject(url);
    expect(broken.statusCode).toBe(404);
    expect(problemOf(broken).code).toBe("route_not_found");
  }
});

test("a fault is internal_error without its message, and is logged once", async () => {
  const { app, service, logged } = await createTestApp();
  service.sandbox = () => {
    throw new Error("disk on fire");
  };
  const response = await app.inject("/v1/sandbox");
  expect(response.statusCode).toBe(500);
  expect(problemOf(response).code).toBe("internal_error");
  expect(response.body).not.toContain("fire");
  const lines = logged().split("\n");
  expect(lines.filter((line) => line.includes("disk on fire"))).toEqual([expect.stringContaining("request failed")]);
});

test("an answer that does not fit its schema is internal_error", async () => {
  const { app, service } = await createTestApp();
  const sandbox = service.sandbox();
  service.sandbox = () => ({ ...sandbox, extra: 1 });
  const response = await app.inject("/v1/sandbox");
  expect(response.statusCode).toBe(500);
  expect(problemOf(response).code).toBe("internal_error");
});

test("what is not HTTP is answered in the same form", async () => {
  const { app } = await createTestApp();
  const { port } = await listen(app);
  const socket = connect(port, "127.0.0.1");
  socket.write("HELO\r\n\r\n");
  const answer = await text(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  const body: unknown = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")));
  expect(Problem.parse(body).detail.code).toBe("invalid_request");
  await app.close();
});

test("a large body on a real connection is refused with an answer", async () => {
  const { app } = await createTestApp({ bodies: { long: 1_000, plain: 1_000, values: 20_000 } });
  const { url } = await listen(app);
  const body = JSON.stringify({ input: "x".repeat(8_000_000) });
  const response = await fetch(`${url}/v1/turns`, { method: "POST", headers: json, body });
  expect(response.status).toBe(413);
  await app.close();
});

test("no refusal repeats a secret that stood in the request", async () => {
  const { app } = await createTestApp();
  const secret = TEST_SECRET;
  const requests = [
    { method: "GET" as const, url: `/v1/turns/${secret}` },
    { method: "GET" as const, url: `/v1/sessions/${secret}` },
    { method: "GET" as const, url: `/v1/requests/${secret}` },
    { method: "GET" as const, url: `/v1/executors/${secret}` },
    { method: "GET" as const, url: `/${secret}?${secret}` },
    { method: "GET" as const, url: `/v1/turns?limit=${secret}` },
    { method: "GET" as const, url: `/v1/turns/turn-0001/events?after_seq=${secret}` },
    post(JSON.stringify({ input: "hi", executor: secret, [secret]: 1 })),
    post(JSON.stringify({ input: "hi", session_id: "session-1", metadata: { [secret]: secret.repeat(5_000) } })),
  ];
  let quoting = 0;
  for (const request of requests) {
    const response = await app.inject(request);
    expect(response.statusCode).toBeGreaterThanOrEqual(400);
    expect(response.body).not.toContain(secret);
    problemOf(response);
    quoting += Number(response.body.includes("[redacted]"));
  }
  expect(quoting).toBeGreaterThanOrEqual(4);
});

test("a path that is not there is answered with the description only where there is one", async () => {
  const { app } = await createTestApp();
  expect(problemOf(await app.inject("/v1/none")).message).toContain("see /openapi.json");
  const terminal = createBareApp({
    logger: pino({ level: "silent" }),
    redact: (given) => given,
    bodies: { long: 8_192, plain: 8_192, values: 100 },
  });
  expect(problemOf(await terminal.inject("/v1/none")).message).toBe("there is no GET /v1/none");
});

test("every refusal that is for now has a Retry-After, wherever it is thrown, and no other has", () => {
  // What the image's front answers does not pass through here.
  const ofFront: readonly string[] = ["turnd_unavailable", "terminal_unavailable"];
  const passing = ProblemCode.options.filter(
    (code) => [429, 503].includes(PROBLEM_STATUS[code]) && !ofFront.includes(code),
  );
  const asking = ProblemCode.options.filter((code) => new ProblemError(code, "").retryAfterSeconds !== undefined);
  expect(asking).toEqual(passing);
});
