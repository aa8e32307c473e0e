import { createServer, type IncomingMessage } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { TurndProtocolError, TurndUnreachable } from "../../../src/turnd/client/errors.ts";
import { createTurndClient } from "../../../src/turnd/client/turnd-client.ts";
import { answering, refuse } from "./made-turn.ts";

const SESSION = {
  session_id: "session-1",
  executor: "cli-b",
  workspace: "/workspace",
  permissions: {},
  created_at: "2026-01-01T00:00:00.000Z",
  turns: [],
};
const ADMISSION = {
  turn_id: "turn-1",
  request_id: "request-1",
  session_id: "session-1",
  status: "queued",
  queue_position: 0,
  events_url: "/v1/turns/turn-1/events",
  result_url: "/v1/turns/turn-1/result",
};

/** Refuses with these headers so often, then answers. */
async function refusing(times: number, answer: unknown, headers: Readonly<Record<string, string>> = {}) {
  const seen: { method: string; body: string; atMs: number }[] = [];
  const baseUrl = await answering(async (request, response) => {
    seen.push({ method: request.method ?? "", body: await textOf(request), atMs: performance.now() });
    if (seen.length <= times) refuse(response, [503, "shutting_down"], headers);
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  return { baseUrl, seen };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}

test("a call that is safe to repeat is repeated, a submission with the id it began with", async () => {
  const { baseUrl, seen } = await refusing(2, ADMISSION);
  const admitted = await createTurndClient({ baseUrl }).submit({ executor: "cli-b", input: "x" });
  expect(admitted.turn_id).toBe("turn-1");
  const ids = seen.map(({ body }) => JSON.parse(body).request_id);
  expect(ids).toHaveLength(3);
  expect(new Set(ids).size).toBe(1);
  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("what is not safe to repeat is asked once", async () => {
  const { baseUrl, seen } = await refusing(9, SESSION, { "retry-after": "0" });
  const turnd = createTurndClient({ baseUrl });
  await expect(turnd.createSession({ executor: "cli-b" })).rejects.toMatchObject({ code: "shutting_down" });
  await expect(turnd.deleteSession("session-1")).rejects.toMatchObject({ code: "shutting_down" });
  expect(seen.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
});

test("tries are bounded, and the last refusal is thrown", async () => {
  const { baseUrl, seen } = await refusing(99, SESSION);
  await expect(createTurndClient({ baseUrl, retries: 1 }).session("s")).rejects.toMatchObject({
    code: "shutting_down",
  });
  expect(seen).toHaveLength(2);
});

test("a refusal that does not pass by itself is not repeated", async () => {
  let asked = 0;
  const baseUrl = await answering((_request, response) => {
    asked += 1;
    refuse(response, [507, "storage_full"]);
  });
  await expect(createTurndClient({ baseUrl }).turn("t")).rejects.toMatchObject({ code: "storage_full" });
  expect(asked).toBe(1);
});

test.each([
  ["seconds", (): Record<string, string> => ({ "retry-after": "1" })],
  [
    "a date, counted from the answer's own",
    // The server's clock is a year behind ours: what counts is how far its two dates are apart.
    (): Record<string, string> => ({
      date: "Wed, 01 Jan 2025 00:00:00 GMT",
      "retry-after": "Wed, 01 Jan 2025 00:00:01 GMT",
    }),
  ],
])("Retry-After as %s is waited for", async (_name, headers) => {
  const { baseUrl, seen } = await refusing(1, SESSION, headers());
  await createTurndClient({ baseUrl }).session("session-1");
  expect((seen[1]?.atMs ?? 0) - (seen[0]?.atMs ?? 0)).toBeGreaterThan(900);
});

test.each(["-5", "soon", "1e3", "Wed, 01 Jan 2020 00:00:00 GMT"])(
  "Retry-After %j asks for nothing that has to be waited for",
  async (value) => {
    const { baseUrl, seen } = await refusing(1, SESSION, { "retry-after": value });
    await createTurndClient({ baseUrl, longestWaitMs: 500 }).session("session-1");
    expect(seen).toHaveLength(2);
  },
);

test.each(["86400", "99999999999999999999", "Wed, 01 Jan 2098 00:00:00 GMT"])(
  "Retry-After %j is longer than a caller waits: it is thrown at once, with what it asks",
  async (value) => {
    const { baseUrl, seen } = await refusing(1, SESSION, { "retry-after": value });
    const fault = await createTurndClient({ baseUrl })
      .session("session-1")
      .catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: "shutting_down" });
    expect(Reflect.get(fault as object, "retryAfterSeconds")).toBeGreaterThanOrEqual(86_400);
    expect(seen).toHaveLength(1);
  },
);

test("a refusal asks for what its answer asks, not for what this version's table has", async () => {
  const { baseUrl } = await refusing(1, SESSION);
  const fault = await createTurndClient({ baseUrl, retries: 0 })
    .session("session-1")
    .catch((error: unknown) => error);
  expect(fault).toMatchObject({ code: "shutting_down", retryAfterSeconds: undefined });
});

test("a proxy's 429 with a page waits as it asks, too", async () => {
  const times: number[] = [];
  const baseUrl = await answering((_request, response) => {
    times.push(performance.now());
    if (times.length === 1)
      response.writeHead(429, { "content-type": "text/html", "retry-after": "1" }).end("<html>Slow down</html>");
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(SESSION));
  });
  await createTurndClient({ baseUrl }).session("session-1");
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(900);
});

test("a clock that is set back does not lengthen a wait", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { baseUrl } = await refusing(1, SESSION, { "retry-after": "1" });
  const answer = createTurndClient({ baseUrl }).session("session-1");
  vi.setSystemTime(0);
  expect((await answer).session_id).toBe("session-1");
});

test("200 with a page is a fault of the protocol, for each kind of call", async () => {
  const baseUrl = await answering((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Sign in</title>");
  });
  const turnd = createTurndClient({ baseUrl });
  const calls: Promise<unknown>[] = [
    turnd.submit({ executor: "cli-b", input: "x" }),
    turnd.turn("t"),
    turnd.wait("t"),
    turnd.cancel("t"),
    turnd.sessions(),
    turnd.ready(),
    turnd.follow("t")[Symbol.asyncIterator]().next(),
  ];
  for (const fault of await Promise.allSettled(calls)) {
    expect(fault).toMatchObject({ status: "rejected", reason: expect.any(TurndProtocolError) });
    expect(JSON.stringify(Reflect.get(fault, "reason").message)).toContain("200");
  }
});

test("a redirect is not followed: the token stays where it was sent", async () => {
  let elsewhere = 0;
  const other = await answering((_request, response) => {
    elsewhere += 1;
    response.end();
  });
  const baseUrl = await answering((_request, response) => response.writeHead(307, { location: other }).end());
  const turnd = createTurndClient({ baseUrl, token: "secret-token-1", retries: 0 });
  await expect(turnd.sessions()).rejects.toBeInstanceOf(TurndUnreachable);
  expect(elsewhere).toBe(0);
});

test("fields that a later turnd has added are left out, at every depth", async () => {
  const later = { ...SESSION, colour: "red", permissions: { edit: "deny", fly: "deny" } };
  const { baseUrl } = await refusing(0, { sessions: [later], next: "x" });
  expect(await createTurndClient({ baseUrl }).sessions()).toEqual([{ ...SESSION, permissions: { edit: "deny" } }]);
});

test("the token is asked for at each request, and its fault is the call's", async () => {
  const tokens: (string | undefined)[] = [];
  const baseUrl = await answering(({ headers }, response) => {
    tokens.push(headers.authorization);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(SESSION));
  });
  let count = 0;
  const turnd = createTurndClient({ baseUrl, token: async () => `token-${(count += 1)}` });
  await turnd.session("s");
  await turnd.session("s");
  expect(tokens).toEqual(["Bearer token-1", "Bearer token-2"]);
});

const HANGS = ["before its head", "within its body", "in the wait before the next try"] as const;

test.each(HANGS)("an abort %s ends a call with its reason, and the connection", async (where) => {
  const closed = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    request.socket.once("close", () => closed.resolve());
    if (where === "in the wait before the next try")
      refuse(response, [503, "shutting_down"], { "retry-after": "20", connection: "close" });
    else if (where === "within its body") response.writeHead(200).write('{"session_id":');
    asked.resolve();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.close().closeAllConnections());
  const address = server.address();
  const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const controller = new AbortController();
  const reason = new Error("enough");
  const call = createTurndClient({ baseUrl })
    .session("s", { signal: controller.signal })
    .catch((error: unknown) => error);
  await asked.promise;
  controller.abort(reason);
  expect(await call).toBe(reason);
  await closed.promise;
});

test("an abort before the call, and while the token is got, asks nothing", async () => {
  let asked = 0;
  const baseUrl = await answering((_request, response) => {
    asked += 1;
    response.end();
  });
  const reason = new Error("enough");
  const aborted = AbortSignal.abort(reason);
  await expect(createTurndClient({ baseUrl }).turns({ signal: aborted })).rejects.toBe(reason);
  const controller = new AbortController();
  const token = async (): Promise<string> => {
    controller.abort(reason);
    return "token";
  };
  await expect(createTurndClient({ baseUrl, token }).turns({ signal: controller.signal })).rejects.toBe(reason);
  expect(asked).toBe(0);
});

test.each([
  ["", "http or https"],
  ["/turnd", "http or https"],
  ["127.0.0.1:8091", "http or https"],
  ["ftp://host", "must begin with http"],
  ["http://user:secret@host", "give a token"],
  ["http://host/?x=1", "query"],
  ["http://host/#x", "query"],
])("the address %j is refused in Node when the client is made", (baseUrl, message) => {
  expect(() => createTurndClient({ baseUrl })).toThrow(message);
});

test("a path before /v1 and slashes at its end are kept right", async () => {
  const urls: string[] = [];
  const baseUrl = await answering(({ url }, response) => {
    urls.push(url ?? "");
    response.writeHead(200, { "content-type": "application/json" }).end('{"turns":[]}');
  });
  await createTurndClient({ baseUrl: `${baseUrl}/turnd//` }).turns({ sessionId: "a:b", status: "running", limit: 5 });
  expect(urls).toEqual(["/turnd/v1/turns?session_id=a%3Ab&status=running&limit=5"]);
});
