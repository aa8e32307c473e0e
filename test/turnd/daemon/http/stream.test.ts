import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import type { AppOptions } from "../../../../src/turnd/daemon/http/app.ts";
import { frameSse } from "../../../../src/turnd/daemon/http/streaming/sse.ts";
import type { FakeService } from "./fake-service.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { openStream, send } from "./stream-client.ts";
import { TurnSnapshot } from "../../../../src/turnd/protocol/index.ts";
import { createTestApp, listen, problemOf, type TestApp } from "./test-app.ts";

async function serve(options: Partial<AppOptions> = {}): Promise<TestApp & { url: string; events: string }> {
  const made = await createTestApp(options);
  const { url } = await listen(made.app);
  onTestFinished(() => made.app.close());
  return { ...made, url, events: `${url}/v1/turns/turn-1/events` };
}

/** Limits of a close that no loaded machine comes to: what ends earlier ended for another reason. */
const PATIENT = { lastEventsMs: 60_000, closeMs: 70_000 };

const warning = (text: string) => ({ type: "warning", data: { code: "test", message: text } });

/** The frames of all events of turn-1, made from the log's own bytes. */
async function expectedFrames(service: FakeService): Promise<Buffer> {
  const frames: Buffer[] = [];
  const { signal } = new AbortController();
  for await (const lines of service.readEvents("turn-1", { afterSeq: 0, isFollowing: false, signal })) {
    frames.push(...lines.map((line) => frameSse([line]).bytes));
  }
  return Buffer.concat(frames);
}

test("headers are flushed before there is any event, and forbid buffering", async () => {
  const { service, events } = await serve();
  service.addTurn("turn-1");
  const client = await openStream(events);
  expect(client.response.headers).toMatchObject({
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
  });
  expect(client.events).toEqual([]);
});

test("with named=false frames have no event line, so that an EventSource gives each to onmessage", async () => {
  const { service, events } = await serve();
  const turn = service.addTurn("turn-1");
  const client = await openStream(`${events}?named=false`);
  turn.append(warning("one"));
  turn.end();
  await client.ended();
  const named = await expectedFrames(service);
  expect(client.bytes().toString()).toBe(named.toString().replaceAll(/^event: .*\n/gm, ""));
  expect(client.events.map(({ id, event, data }) => [id, event, JSON.parse(data).type])).toEqual([
    ["1", undefined, "warning"],
    ["2", undefined, "turn.ended"],
  ]);
});

test("a stream that fails ends with a named event, also where events have none", async () => {
  const { service, events } = await serve();
  service.addTurn("turn-1").append(warning("one"));
  service.failReads(new Error("the disk is gone"));
  const client = await openStream(`${events}?named=false`);
  await client.ended();
  expect(client.events.map(({ event }) => event)).toEqual([undefined, "error"]);
});

test("frames carry seq, type and the logged line byte for byte, and the last one is `end`", async () => {
  const { service, events } = await serve();
  const turn = service.addTurn("turn-1");
  const client = await openStream(events);
  const texts = ["plain", "héllo 😀 漢字", "a\nb\r\nc\u2028d", "x".repeat(3_000_000)];
  for (const text of texts) turn.append(warning(text));
  await client.until(() => client.events.length === texts.length);
  turn.append(warning("two"), warning("at once"));
  turn.end();
  await client.ended();
  expect(client.bytes().equals(await expectedFrames(service))).toBe(true);
  expect(client.bytes().subarray(0, 26).toString()).toBe("id: 1\nevent: warning\ndata:");
  expect(client.events.map(({ id }) => Number(id))).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(client.events.map(({ event }) => event)).toEqual([...Array(6).fill("warning"), "end"]);
  expect(JSON.parse(client.events[3]?.data ?? "")).toMatchObject({ seq: 4, data: { message: texts[3] } });
});

test("a client that comes back goes on after its last event, and is stopped after the end", async () => {
  const { service, events } = await serve();
  const turn = service.addTurn("turn-1");
  turn.append(warning("one"), warning("two"));
  const first = await openStream(events);
  await first.until(() => first.events.length === 2);
  first.drop();
  turn.append(warning("three"));
  turn.end();
  const second = await openStream(`${events}?after_seq=0`, { "last-event-id": "2" });
  await second.ended();
  expect(second.events.map(({ id, event }) => [id, event])).toEqual([
    ["3", "warning"],
    ["4", "end"],
  ]);
  const third = await fetch(events, { headers: { accept: "text/event-stream", "last-event-id": "4" } });
  expect(third.status).toBe(204);
});

test("lines of JSON follow a turn to its end when asked to", async () => {
  const { service, events } = await serve();
  const turn = service.addTurn("turn-1");
  const client = await openStream(`${events}?follow=true`, { accept: "application/x-ndjson" });
  turn.append(warning("one"));
  await client.until(() => client.bytes().length > 0);
  turn.end();
  await client.ended();
  const lines = client.bytes().toString().trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).seq)).toEqual([1, 2]);
});

test("an idle stream shows that it lives", async () => {
  const { service, events } = await serve({ heartbeatMs: 5 });
  const turn = service.addTurn("turn-1");
  const client = await openStream(events);
  await client.until(() => client.comments.length >= 3);
  expect(client.events).toEqual([]);
  turn.end();
  await client.ended();
  expect(client.events).toHaveLength(1);
});

test("a client that leaves ends its reading at once", async () => {
  const { service, events } = await serve();
  const turn = service.addTurn("turn-1");
  const client = await openStream(events);
  await waitFor("the reader", () => turn.readers() === 1);
  client.drop();
  await waitFor("the reader to leave", () => turn.readers() === 0);
});

test("a stream that fails reports it without an id, and is logged once", async () => {
  const { service, events, logged } = await serve();
  service.addTurn("turn-1").append(warning("one"));
  service.failReads(new Error("the log is gone"));
  const client = await openStream(events);
  await client.ended();
  expect(client.events.map(({ id, event }) => [id, event])).toEqual([
    ["1", "warning"],
    [undefined, "error"],
  ]);
  expect(JSON.parse(client.events[1]?.data ?? "")).toMatchObject({ detail: { code: "internal_error" } });
  expect(
    logged()
      .split("\n")
      .filter((line) => line.includes("the log is gone")),
  ).toHaveLength(1);
});

test("streams beyond the limit are refused until one has ended", async () => {
  const { service, events } = await serve({ maxStreams: 2 });
  const turn = service.addTurn("turn-1");
  const clients = [await openStream(events), await openStream(events)];
  const refused = await fetch(events, { headers: { accept: "text/event-stream" } });
  expect(refused.status).toBe(429);
  const body: unknown = await refused.json();
  expect(problemOf({ json: () => body }).code).toBe("too_many_streams");
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  clients[0]?.drop();
  await waitFor("a place", async () => {
    const next = await openStream(events);
    next.drop();
    return next.response.statusCode === 200;
  });
  turn.end();
});

test("a client that takes nothing costs a batch of memory, and no other client anything", async () => {
  const { app, service, events } = await serve();
  const sockets: Socket[] = [];
  app.server.on("connection", (socket) => sockets.push(socket));
  const turn = service.addTurn("turn-1");
  const [stalled]: IncomingMessage[] = await once(send(events, { accept: "text/event-stream" }), "response");

  const text = "x".repeat(4_000);
  turn.append(...Array.from({ length: 15_000 }, () => warning(text)));
  turn.end();
  const fast = await openStream(events);
  await fast.ended();
  expect(fast.events).toHaveLength(15_001);
  // About 1,000 batches of 64 KiB make up the turn. What the system's own buffers hold of it differs by machine.
  const batches = Math.ceil(fast.bytes().length / 65_536);
  expect(turn.pulls()).toBeLessThan(batches * 1.6);
  expect(Math.max(...sockets.map((socket) => socket.writableLength))).toBeLessThan(200_000);

  let bytes = 0;
  stalled?.on("data", (chunk: Buffer) => (bytes += chunk.length));
  if (stalled !== undefined) await once(stalled, "end");
  expect(bytes).toBe(fast.bytes().length);
});

test("closing ends streams and waits of turns that go on", async () => {
  const { app, service, url, events } = await serve(PATIENT);
  const turn = service.addTurn("turn-1");
  turn.append(warning("one"));
  const client = await openStream(events);
  await client.until(() => client.events.length === 1);
  const wait = vi.spyOn(service, "waitForEnd");
  const asked = fetch(`${url}/v1/turns?wait_ms=60000`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: "hi", executor: "cli-b" }),
  });
  await waitFor("the request to wait", () => wait.mock.calls.length > 0);
  await app.close();
  await client.ended();
  expect(client.events).toHaveLength(1);
  const answer = await asked;
  // It is admitted: a refusal would make its client, or a proxy, send it again.
  expect(answer.status).toBe(202);
  expect(TurnSnapshot.parse(await answer.json()).turn_id).toBe("turn-2");
  expect(turn.readers()).toBe(0);
});

test("closing lets a client take the last events of a turn that has ended", async () => {
  const { app, service, events } = await serve(PATIENT);
  const turn = service.addTurn("turn-1");
  const [slow]: IncomingMessage[] = await once(send(events, { accept: "text/event-stream" }), "response");
  turn.append(...Array.from({ length: 6_000 }, () => warning("x".repeat(4_000))));
  turn.end();
  await waitFor("some batches", () => turn.pulls() > 5);
  const closed = app.close();
  const body = slow === undefined ? Buffer.alloc(0) : await buffer(slow);
  await closed;
  expect(body.equals(await expectedFrames(service))).toBe(true);
});

test("closing lets a client take what was written and has not left yet", async () => {
  const { app, service, events } = await serve(PATIENT);
  const sockets: Socket[] = [];
  app.server.on("connection", (socket) => sockets.push(socket));
  const turn = service.addTurn("turn-1");
  const [slow]: IncomingMessage[] = await once(send(events, { accept: "text/event-stream" }), "response");
  // One event a batch, until the system takes no more and the rest waits in the daemon.
  let sent = 0;
  const isFull = async () => {
    await setImmediate();
    await setImmediate();
    return (sockets[0]?.writableLength ?? 0) > 0;
  };
  while (!(await isFull())) {
    turn.append(warning("x".repeat(30_000)));
    sent += 1;
    await waitFor("the batch to be taken", () => turn.pulls() === sent);
  }
  turn.end();
  await waitFor("the end to be taken", () => turn.pulls() === sent + 1);
  const closed = app.close();
  const body = slow === undefined ? Buffer.alloc(0) : await buffer(slow);
  await closed;
  expect(body.equals(await expectedFrames(service))).toBe(true);
});

test("closing does not wait for a client that takes nothing", async () => {
  const { app, service, events } = await serve(PATIENT);
  const turn = service.addTurn("turn-1");
  const [stalled]: IncomingMessage[] = await once(send(events, { accept: "text/event-stream" }), "response");
  turn.append(...Array.from({ length: 8_000 }, () => warning("x".repeat(4_000))));
  await waitFor("some batches", () => turn.pulls() > 5);
  const startedAt = performance.now();
  await app.close();
  expect(performance.now() - startedAt).toBeLessThan(PATIENT.lastEventsMs / 2);
  expect(turn.readers()).toBe(0);
  stalled?.destroy();
});

/** Sends what stands in it, on one connection and at once. @returns all that came back until turnd closed it */
async function sendRaw(url: string, requests: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(requests.replaceAll("\n", "\r\n"));
  return String(await buffer(socket));
}

test("a stream that waits behind another on its connection comes behind it, headers first", async () => {
  const { service, url } = await serve();
  for (const id of ["turn-1", "turn-2"]) {
    const turn = service.addTurn(id);
    turn.append(warning(`of ${id}`));
    turn.end();
  }
  const ask = (id: string, connection: string): string =>
    `GET /v1/turns/${id}/events HTTP/1.1\nHost: 127.0.0.1\nConnection: ${connection}\n\n`;
  const answers = (await sendRaw(url, ask("turn-1", "keep-alive") + ask("turn-2", "close"))).split("HTTP/1.1 200 OK");
  expect(answers).toHaveLength(3);
  for (const [index, id] of ["turn-1", "turn-2"].entries()) {
    const [, body = ""] = answers[index + 1]?.split("\r\n\r\n", 2) ?? [];
    expect(body).toContain(`of ${id}`);
  }
});

test("a client of HTTP/1.0 gets a stream without chunks", async () => {
  const { service, url } = await serve();
  const turn = service.addTurn("turn-1");
  turn.append(warning("one"));
  turn.end();
  const answer = await sendRaw(
    url,
    "GET /v1/turns/turn-1/events HTTP/1.0\nHost: 127.0.0.1\nAccept: text/event-stream\n\n",
  );
  expect(answer.slice(answer.indexOf("\r\n\r\n") + 4)).toBe(String(await expectedFrames(service)));
});
