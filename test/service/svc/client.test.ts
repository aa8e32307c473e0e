import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { createClient, type Client } from "../../../src/service/svc/client.ts";

/** A service that answers with each of these in turn, and the times at which it was asked. */
async function answering(
  ...answers: readonly ((response: ServerResponse) => void)[]
): Promise<{ client: Client; askedAt: number[] }> {
  const askedAt: number[] = [];
  const server = createServer((request, response) => {
    request.resume();
    askedAt.push(performance.now());
    answers[askedAt.length - 1]?.(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const client = createClient({ url: `http://127.0.0.1:${address.port}`, signal: new AbortController().signal });
  return { client, askedAt };
}

const done = (response: ServerResponse): void => void response.end('{"ok":true}');
const refusing =
  (status: number, headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end(JSON.stringify({ detail: { code: "a_code", message: "not now" } }));

test.each([
  ["seconds", { "retry-after": "2" }],
  ["a date", { date: "Wed, 01 Jan 2025 00:00:00 GMT", "retry-after": "Wed, 01 Jan 2025 00:00:02 GMT" }],
])("a Retry-After of the service is waited for, also as %s", async (_form, headers) => {
  const { client, askedAt } = await answering(refusing(503, headers), done);
  expect(await client.call({ method: "POST", path: "/api/a" })).toEqual({ ok: true });
  // Its own first wait is 500 ms at most.
  expect((askedAt[1] ?? 0) - (askedAt[0] ?? 0)).toBeGreaterThan(1_900);
});

test("a fault of the service ends a call that may have been done, and one that is safe to repeat is asked again", async () => {
  const posted = await answering(refusing(500), done);
  await expect(posted.client.call({ method: "POST", path: "/api/a" })).rejects.toMatchObject({ status: 500 });
  expect(posted.askedAt).toHaveLength(1);
  const read = await answering(refusing(500), done);
  expect(await read.client.call({ method: "GET", path: "/api/a" })).toEqual({ ok: true });
  const full = await answering(refusing(507), done);
  await expect(full.client.call({ method: "GET", path: "/api/a" })).rejects.toMatchObject({ status: 507 });
});
