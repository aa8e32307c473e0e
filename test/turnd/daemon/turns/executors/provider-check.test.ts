import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import {
  createProviderCheck,
  type ProviderCheck,
} from "../../../../../src/turnd/daemon/turns/executors/provider-check.ts";

/** A server of this test's own. */
async function serve(listener: RequestListener): Promise<{ url: string; asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}`, asked };
}

interface Given {
  readonly url: string;
  readonly env?: Record<string, string>;
  readonly timeoutMs?: number;
  readonly now?: () => Date;
}

/** A check that takes 404 for an absent API and 400 for a present one. */
function check({ url, env = {}, timeoutMs = 60_000, now = () => new Date() }: Given): ProviderCheck {
  return createProviderCheck({
    request: {
      url,
      headers: { authorization: "Bearer key" },
      body: "{}",
      certificates: { replacing: [], adding: [] },
      judge: ({ status }) => ({
        api: status === 404 ? "absent" : status === 400 ? "present" : "unproven",
        message: `answered ${status}`,
      }),
    },
    env,
    now,
    timeoutMs,
  });
}

test("turns at the same time ask one question, and later ones none until the answer is old", async () => {
  let status = 404;
  let time = 0;
  const { url, asked } = await serve((_, response) => response.writeHead(status).end("no"));
  const provider = check({ url, now: () => new Date(time) });
  const states = await Promise.all([provider.ask(), provider.ask(), provider.ask()]);
  expect(states.map(({ api }) => api)).toEqual(["absent", "absent", "absent"]);
  expect(asked.map(({ method, headers }) => [method, headers.authorization])).toEqual([["POST", "Bearer key"]]);

  time = 59_000;
  expect((await provider.ask()).answer).toEqual({ status: 404, body: "no" });
  expect(asked.length).toBe(1);

  // An absent API may have been a setting that is fixed by now; one that is there stays for longer.
  [status, time] = [400, 61_000];
  expect((await provider.ask()).api).toBe("present");
  time += 3_000_000;
  await provider.ask();
  expect(asked.length).toBe(2);
});

test("what is known is answered without asking", async () => {
  const { url, asked } = await serve((_, response) => response.writeHead(400).end());
  const provider = check({ url });
  expect([provider.known(), asked.length]).toEqual([undefined, 0]);
  await provider.ask();
  expect(provider.known()?.api).toBe("present");
});

test("a redirect is not followed: the key goes to no other server", async () => {
  const other = await serve((_, response) => response.writeHead(400).end());
  const { url } = await serve((_, response) => response.writeHead(307, { location: other.url }).end());
  expect((await check({ url }).ask()).api).toBe("unproven");
  expect(other.asked).toEqual([]);
});

test("a provider that never answers proves nothing, within the timeout", async () => {
  const { url } = await serve(() => {});
  expect(await check({ url, timeoutMs: 100 }).ask()).toMatchObject({
    api: "unproven",
    message: expect.stringContaining("not within 100 ms"),
  });
});

test("an answer that goes on for ever is read as far as it is needed", async () => {
  const { url } = await serve((_, response) => {
    response.writeHead(404);
    const write = (): void => void (response.writable && response.write("x".repeat(65_536), write));
    write();
  });
  const state = await check({ url }).ask();
  expect([state.api, state.answer?.body.length]).toEqual(["absent", 4_096]);
});

test("a provider that cannot be reached proves nothing", async () => {
  const { url } = await serve(() => {});
  const state = await check({ url: url.replace(/:\d+$/, ":1") }).ask();
  expect(state).toMatchObject({ api: "unproven", message: expect.stringContaining("ECONNREFUSED") });
});

test("a key that is no header value is reported without being quoted", async () => {
  const provider = createProviderCheck({
    request: {
      url: "http://127.0.0.1:1/",
      headers: { authorization: "Bearer bad\nkey" },
      body: "{}",
      certificates: { replacing: [], adding: [] },
      judge: () => ({ api: "absent", message: "" }),
    },
    env: {},
    now: () => new Date(),
    timeoutMs: 1_000,
  });
  const state = await provider.ask();
  expect(state).toMatchObject({ api: "unproven", message: expect.stringContaining("ERR_INVALID_CHAR") });
  expect(JSON.stringify(state)).not.toContain("bad");
});

test("the question goes through the proxy of the CLI's environment, and around it where that is set", async () => {
  const proxy = await serve((_, response) => response.writeHead(404).end());
  const { url, asked } = await serve((_, response) => response.writeHead(400).end());
  const through = await check({ url: "http://models.test/v1", env: { HTTP_PROXY: proxy.url } }).ask();
  expect([through.api, proxy.asked[0]?.url]).toEqual(["absent", "http://models.test/v1"]);
  const around = await check({ url, env: { HTTP_PROXY: proxy.url, NO_PROXY: "127.0.0.1" } }).ask();
  expect([around.api, asked.length, proxy.asked.length]).toEqual(["present", 1, 1]);
});
