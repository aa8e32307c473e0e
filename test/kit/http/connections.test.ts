import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import fastify, { type FastifyInstance } from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { createConnectionRefusal } from "../../../src/kit/http/client-error.ts";
import { CONNECTION_OPTIONS, endConnectionsOnClose } from "../../../src/kit/http/connections.ts";

/** Longer than a test may take: what waits for it fails. */
const NEVER_MS = 3_600_000;

async function listen(closeMs?: number): Promise<{ app: FastifyInstance; open: () => Promise<Socket> }> {
  const app = fastify({ ...CONNECTION_OPTIONS, clientErrorHandler: createConnectionRefusal("invalid_request") });
  endConnectionsOnClose(app, closeMs);
  const { port } = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
  onTestFinished(() => app.close());
  const open = async (): Promise<Socket> => {
    const accepted = once(app.server, "connection");
    const socket = connect(Number(port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => undefined);
    await accepted;
    return socket;
  };
  return { app, open };
}

test("an app closes at once though a client has opened a connection and sent nothing", async () => {
  const { app, open } = await listen(NEVER_MS);
  const silent = await open();
  const ended = once(silent, "close");
  await app.close();
  await ended;
});

test("an app closes in its time though a request never arrives whole", async () => {
  const { app, open } = await listen(10);
  const half = await open();
  half.write("POST / HTTP/1.1\r\nHost: a\r\n");
  await app.close();
});

test.each([
  ["what is not HTTP", "hello\r\n\r\n", "400 Bad Request"],
  ["too many headers", `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, "431 Request Header Fields"],
])("%s is answered with a problem, and the connection ended", async (_, sent, status) => {
  const { open } = await listen();
  const socket = await open();
  socket.write(sent);
  const answer = await text(socket);
  expect(answer.split("\r\n")[0]).toContain(status);
  expect(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")))).toMatchObject({ detail: { code: "invalid_request" } });
});
