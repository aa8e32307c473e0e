import { expect, test } from "vitest";
import { createTestApp, problemOf, type TestApp } from "./test-app.ts";

async function appWithEndedTurn(): Promise<TestApp> {
  const made = await createTestApp();
  const turn = made.service.addTurn("turn-1");
  turn.append({ type: "message", native: { line: 1 }, data: { message_id: "m", text: "one" } });
  turn.append({ type: "message", native: { line: 2 }, data: { message_id: "n", text: "two" } });
  turn.end();
  return made;
}

const events = "/v1/turns/turn-1/events";

function seqsOf(body: string): unknown[] {
  return body
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line).seq);
}

test("without an Accept of event-stream the events come as lines of JSON, byte for byte", async () => {
  const { app, service } = await appWithEndedTurn();
  const response = await app.inject(events);
  expect(response.headers["content-type"]).toBe("application/x-ndjson; charset=utf-8");
  expect(response.headers["cache-control"]).toBe("no-cache, no-transform");
  expect(response.headers["x-accel-buffering"]).toBe("no");
  const logged: Buffer[] = [];
  const signal = new AbortController().signal;
  for await (const lines of service.readEvents("turn-1", { afterSeq: 0, isFollowing: false, signal })) {
    for (const line of lines) logged.push(line.bytes, Buffer.from("\n"));
  }
  expect(response.rawPayload).toEqual(Buffer.concat(logged));
});

test("lines of a running turn end after what is there", async () => {
  const { app, service } = await createTestApp();
  service.addTurn("turn-1").append({ type: "warning", data: { code: "c", message: "m" } });
  expect(seqsOf((await app.inject(events)).body)).toEqual([1]);
});

test("a running turn without events answers no lines", async () => {
  const { app, service } = await createTestApp();
  service.addTurn("turn-1");
  const response = await app.inject(events);
  expect([response.statusCode, response.body]).toEqual([200, ""]);
});

test("after_seq and Last-Event-ID begin after an event, and the header wins", async () => {
  const { app } = await appWithEndedTurn();
  const read = async (query: string, header?: string) => {
    const headers = header === undefined ? {} : { "last-event-id": header };
    return seqsOf((await app.inject({ url: `${events}${query}`, headers })).body);
  };
  expect(await read("?after_seq=0")).toEqual([1, 2, 3]);
  expect(await read("?after_seq=1")).toEqual([2, 3]);
  expect(await read("", "2")).toEqual([3]);
  expect(await read("?after_seq=1", "2")).toEqual([3]);
  expect(await read("?after_seq=2", "0")).toEqual([1, 2, 3]);
  expect(await read("?after_seq=nonsense", "2")).toEqual([3]);
});

test("a cursor that is no seq is bad_cursor, wherever it stands", async () => {
  const { app } = await appWithEndedTurn();
  for (const bad of ["x", "-1", "1.5", "1e3", " 1", "", "99999999999999999999", "turn-1:3"]) {
    const query = await app.inject({ url: events, query: { after_seq: bad } });
    expect([query.statusCode, problemOf(query).code]).toEqual([422, "bad_cursor"]);
    const header = await app.inject({ url: `${events}?after_seq=1`, headers: { "last-event-id": bad } });
    expect([header.statusCode, problemOf(header).code]).toEqual([422, "bad_cursor"]);
  }
});

test("a cursor beyond the last event is refused with the last seq", async () => {
  const { app } = await appWithEndedTurn();
  const response = await app.inject(`${events}?after_seq=4`);
  expect(response.statusCode).toBe(416);
  expect(problemOf(response)).toMatchObject({ code: "cursor_beyond_end", last_seq: 3, turn_id: "turn-1" });
});

test("at the end of an ended turn there is no content, which stops an EventSource", async () => {
  const { app } = await appWithEndedTurn();
  for (const accept of ["text/event-stream", "*/*"]) {
    const response = await app.inject({ url: events, headers: { accept, "last-event-id": "3" } });
    expect([response.statusCode, response.body]).toEqual([204, ""]);
  }
});

test("verbose=false leaves native out and keeps the rest", async () => {
  const { app } = await appWithEndedTurn();
  const full = (await app.inject(events)).body.split("\n");
  const slim = (await app.inject(`${events}?verbose=false`)).body.split("\n");
  for (const [index, line] of full.entries()) {
    if (line === "") continue;
    const { native: _native, ...rest } = JSON.parse(line);
    expect(JSON.parse(slim[index] ?? "")).toEqual(rest);
  }
});

test("deltas=false leaves out what is provisional, of slim and whole events alike", async () => {
  const { app, service } = await createTestApp();
  const turn = service.addTurn("turn-1");
  const text = { message_id: "m", text: "Hello" };
  turn.append(
    { type: "message.delta", data: text },
    { type: "reasoning.delta", data: text },
    { type: "message.discarded", data: { message_id: "m", reason: "retry" } },
    { type: "tool.output", data: { tool_call_id: "t", text: "x", mode: "append" } },
    { type: "message", data: text },
  );
  turn.end();
  for (const query of ["deltas=false", "deltas=false&verbose=false"]) {
    const lines = (await app.inject(`${events}?${query}`)).body.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).type)).toEqual(["message", "turn.ended"]);
  }
  expect((await app.inject(`${events}?deltas=true`)).body.trimEnd().split("\n")).toHaveLength(6);
});

test("a reading that fails before its end breaks the lines off, and is logged once", async () => {
  const { app, service, logged } = await createTestApp();
  service.addTurn("turn-1");
  service.failReads(new Error("the log is gone"));
  await expect(app.inject(events)).rejects.toThrow();
  const lines = logged().split("\n");
  expect(lines.filter((line) => line.includes("event stream failed"))).toHaveLength(1);
});
