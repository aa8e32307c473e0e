import { expect, onTestFinished, test } from "vitest";
import type { AppOptions } from "../../../../src/turnd/daemon/http/app.ts";
import { openStream } from "./stream-client.ts";
import { createTestApp, listen, problemOf } from "./test-app.ts";

const token = "a-token-of-some-length";
const page = "https://app.example";
const corsOrigins = [page, "http://localhost:5173"];

async function ask(
  headers: Record<string, string>,
  options: Partial<AppOptions> = {},
  method: "GET" | "OPTIONS" = "GET",
) {
  const { app } = await createTestApp({ token, corsOrigins, ...options });
  return app.inject({ method, url: "/v1/turns", headers: { host: "127.0.0.1:8091", ...headers } });
}

const preflight = {
  origin: page,
  "access-control-request-method": "POST",
  "access-control-request-headers": "authorization,content-type,x-aio-proxy-port",
};

test("a page of a listed origin may call with the token, and read what a client needs", async () => {
  for (const origin of corsOrigins) {
    const answer = await ask({ origin, authorization: `Bearer ${token}` });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({ "access-control-allow-origin": origin, vary: "Origin" });
    const exposed = String(answer.headers["access-control-expose-headers"]).split(", ");
    // Whatever the typed client reads, but what every page may.
    expect(exposed).toEqual(expect.arrayContaining(["date", "etag", "retry-after", "x-turnd-truncated"]));
    // Cookies count for nothing: the page needs the token.
    expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
  }
});

test("a listed page can read why it is refused", async () => {
  const answer = await ask({ origin: page, authorization: "Bearer wrong" });
  expect([answer.statusCode, answer.headers["access-control-allow-origin"]]).toEqual([401, page]);
});

test("a preflight needs no token, and allows no header that the image's front acts on", async () => {
  const answer = await ask(preflight, {}, "OPTIONS");
  expect([answer.statusCode, answer.body]).toEqual([204, ""]);
  expect(answer.headers).toMatchObject({
    "access-control-allow-origin": page,
    "access-control-allow-methods": "GET, POST, PUT, DELETE",
    "access-control-allow-headers":
      "authorization, content-type, if-match, if-none-match, if-range, last-event-id, range, traceparent, tracestate",
    "access-control-max-age": "600",
  });
  expect(answer.headers["access-control-allow-private-network"]).toBeUndefined();
});

test("a listed page of the internet may call an address of a private network", async () => {
  const answer = await ask({ ...preflight, "access-control-request-private-network": "true" }, {}, "OPTIONS");
  expect(answer.headers["access-control-allow-private-network"]).toBe("true");
  const foreign = { ...preflight, origin: "https://evil.example", "access-control-request-private-network": "true" };
  const refused = await ask(foreign, {}, "OPTIONS");
  expect([refused.statusCode, refused.headers["access-control-allow-private-network"]]).toEqual([403, undefined]);
});

test("no origin but a listed one passes, however close to it", async () => {
  const close = [
    "null",
    "http://app.example",
    "https://app.example:8443",
    "https://app.example.",
    "https://app.example/",
    "https://APP.example",
    "https://app.example.evil.example",
    "https://evil-app.example",
    "https://sub.app.example",
    "https://app.example@evil.example",
    "https://evil.example",
    "http://localhost:5174",
    "http://127.0.0.1:5173",
    "https://app.example https://evil.example",
    "*",
    "",
  ];
  for (const origin of close) {
    for (const [headers, method] of [
      [{ origin, authorization: `Bearer ${token}` }, "GET"],
      [{ ...preflight, origin }, "OPTIONS"],
    ] as const) {
      const answer = await ask(headers, {}, method);
      expect([origin, answer.statusCode]).toEqual([origin, 403]);
      expect(problemOf(answer).code).toBe("forbidden_origin");
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    }
  }
});

test("a listed origin is no name of this host: one that resolves here is refused", async () => {
  const rebound = await ask({ host: "app.example", origin: page, authorization: `Bearer ${token}` });
  expect([rebound.statusCode, problemOf(rebound).code]).toEqual([403, "forbidden_origin"]);
  const without = await ask({ host: "app.example", authorization: `Bearer ${token}` });
  expect(without.statusCode).toBe(403);
});

test("without the setting no page of elsewhere may call, and no answer has a header of CORS", async () => {
  const headers = { host: "127.0.0.1:8091", origin: "http://127.0.0.1:8091", authorization: `Bearer ${token}` };
  const own = await ask(headers, { corsOrigins: [] });
  expect([own.statusCode, Object.keys(own.headers).filter((name) => name.startsWith("access-control"))]).toEqual([
    200,
    [],
  ]);
  const refused = await ask(preflight, { corsOrigins: [] }, "OPTIONS");
  expect([refused.statusCode, problemOf(refused).message]).toEqual([
    403,
    expect.stringContaining("TURND_CORS_ORIGINS"),
  ]);
});

test("an EventSource of a listed page reads events with a ticket", async () => {
  const { app, service } = await createTestApp({ token, corsOrigins });
  service.addTurn("turn-1").end();
  const { url } = await listen(app);
  onTestFinished(() => app.close());
  const headers = { origin: page, authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ path: "/v1/turns/turn-1/events" });
  const given = await fetch(`${url}/v1/tickets`, { method: "POST", headers, body });
  expect(given.headers.get("access-control-allow-origin")).toBe(page);
  const { url: path }: { url: string } = JSON.parse(await given.text());
  const stream = await openStream(`${url}${path}&named=false`, { origin: page });
  expect(stream.response.headers).toMatchObject({ "access-control-allow-origin": page, vary: "Origin" });
  await stream.ended();
  expect(stream.events.map(({ id, event }) => [id, event])).toEqual([["1", undefined]]);
});
