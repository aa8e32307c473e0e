import { once } from "node:events";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { FastifyInstance } from "fastify";
import { expect, onTestFinished, test } from "vitest";
import type { AppOptions } from "../../../../src/turnd/daemon/http/app.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { createTestApp, listen, type TestApp } from "./test-app.ts";

const TOKEN = "a-token-of-some-length";
/** Eight files allow one connection. */
const THREE_PLACES = { maxFiles: 24 };

interface Served extends TestApp {
  readonly port: number;
  readonly path: string;
}

/** An app that listens on a port and on a Unix socket. */
async function serve(options: Partial<AppOptions> = {}): Promise<Served> {
  const made = await createTestApp(options);
  onTestFinished(() => made.app.close());
  const { port } = await listen(made.app);
  const path = join(temporaryDirectory(onTestFinished), "turnd.socket");
  await made.app.connections.openSocket(path);
  return { ...made, port, path };
}

/** Opens a connection to the port and sends bytes. */
async function open(port: number, bytes = ""): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  // Those that give way are reset.
  socket.on("error", () => {});
  await once(socket, "connect");
  if (bytes !== "") await new Promise((resolve) => socket.write(bytes, resolve));
  return socket;
}

const HALF = "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX: ";
const ask = (headers = "", path = "/v1/turns"): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;

async function statusOf(socket: Socket): Promise<string> {
  const [chunk]: Buffer[] = await once(socket, "data");
  return chunk?.toString().split("\r\n", 1)[0] ?? "";
}

/** Asks over the Unix socket. */
async function askSocket(socketPath: string, path: string): Promise<{ status: number | undefined; body: string }> {
  const [response] = await once(get({ socketPath, path, headers: { host: "localhost" } }), "response");
  return { status: response.statusCode, body: await text(response) };
}

function openConnections(app: FastifyInstance): Promise<number> {
  return new Promise((resolve, reject) => {
    app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
}

test("on a full port the oldest connection without the token gives way, one with it stays", async () => {
  const { port, app } = await serve({ ...THREE_PLACES, token: TOKEN });
  const trusted = await open(port, ask(`Authorization: Bearer ${TOKEN}\r\n`));
  expect(await statusOf(trusted)).toBe("HTTP/1.1 200 OK");
  const anonymous: Socket[] = [];
  for (let count = 0; count < 10; count++) anonymous.push(await open(port, HALF));
  await waitFor("the oldest to go", () => anonymous.filter(({ closed }) => !closed).length === 2);
  expect(anonymous.map(({ closed }) => closed)).toEqual([...Array<boolean>(8).fill(true), false, false]);
  expect(await openConnections(app)).toBe(3);
  const answered = statusOf(trusted);
  trusted.write(ask(`Authorization: Bearer ${TOKEN}\r\n`));
  expect(await answered).toBe("HTTP/1.1 200 OK");
  const late = await open(port, ask(`Authorization: Bearer ${TOKEN}\r\n`));
  expect(await statusOf(late)).toBe("HTTP/1.1 200 OK");
});

test("a wrong token, and a path that needs none, keep no connection", async () => {
  const { port } = await serve({ ...THREE_PLACES, token: TOKEN });
  const wrong = await open(port, ask("Authorization: Bearer another-token\r\n"));
  expect(await statusOf(wrong)).toBe("HTTP/1.1 401 Unauthorized");
  const healthy = await open(port, ask("", "/v1/health"));
  expect(await statusOf(healthy)).toBe("HTTP/1.1 200 OK");
  for (let count = 0; count < 3; count++) await open(port);
  await waitFor("both to go", () => wrong.closed && healthy.closed);
});

test("without a token what is being answered stays, and what has not arrived whole gives way", async () => {
  const { port, service } = await serve(THREE_PLACES);
  const turn = service.addTurn("turn-1");
  const stream = await open(port, ask("Accept: text/event-stream\r\n", "/v1/turns/turn-1/events"));
  expect(await statusOf(stream)).toBe("HTTP/1.1 200 OK");
  const half = await open(port, "POST /v1/turns HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{");
  half.resume();
  for (let count = 0; count < 5; count++) await open(port, HALF);
  await waitFor("it to go", () => half.closed);
  expect(stream.closed).toBe(false);
  turn.end();
});

test("a port that is full keeps no client from the Unix socket, nor do its streams", async () => {
  const { port, path, service } = await serve({ ...THREE_PLACES, maxStreams: 1 });
  const turn = service.addTurn("turn-1");
  const events = "/v1/turns/turn-1/events";
  const stream = await open(port, ask("Accept: text/event-stream\r\n", events));
  expect(await statusOf(stream)).toBe("HTTP/1.1 200 OK");
  for (let count = 0; count < 5; count++) await open(port, HALF);
  const second = await open(port, ask("Accept: text/event-stream\r\n", events));
  expect(await statusOf(second)).toBe("HTTP/1.1 429 Too Many Requests");
  expect((await askSocket(path, "/v1/health")).status).toBe(200);
  const following = askSocket(path, `${events}?follow=true`);
  turn.end();
  expect((await following).status).toBe(200);
});

test("a connection that nothing was asked on does not keep turnd from stopping", async () => {
  const { port, app } = await serve();
  const half = await open(port, HALF);
  const silent = await open(port);
  await waitFor("both connections", async () => (await openConnections(app)) === 2);
  const closed = app.close();
  await once(silent, "close");
  // What was begun still gets its time.
  half.write("y\r\n\r\n");
  expect(await statusOf(half)).toBe("HTTP/1.1 200 OK");
  await closed;
});

test("the Unix socket is for its owner and its directory's group, and goes with turnd", async () => {
  const { path, app } = await serve();
  expect(statSync(path).mode & 0o777).toBe(0o660);
  const kept = connect(path);
  await once(kept, "connect");
  await app.close();
  expect(existsSync(path)).toBe(false);
});

test("the socket of a turnd that was killed is replaced, one that answers and a file are not", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const { app } = await serve();
  const inUse = join(directory, "in-use.socket");
  const other = createServer().listen(inUse);
  await once(other, "listening");
  onTestFinished(() => void other.close());
  await expect(app.connections.openSocket(inUse)).rejects.toThrow("in use");
  const file = join(directory, "file");
  writeFileSync(file, "kept");
  await expect(app.connections.openSocket(file)).rejects.toThrow("in use");
  expect(existsSync(file)).toBe(true);
});
