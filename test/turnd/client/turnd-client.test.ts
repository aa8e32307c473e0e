import { randomUUID } from "node:crypto";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { TurndProtocolError, TurndUnreachable } from "../../../src/turnd/client/errors.ts";
import type { ReadEvent } from "../../../src/turnd/client/parse-event.ts";
import { createTurndClient, type TurndClient } from "../../../src/turnd/client/turnd-client.ts";
import { ProblemError } from "../../../src/turnd/protocol/index.ts";
import { sharedDaemon } from "../../harness/shared-daemon.ts";
import { inProcessDaemon } from "../../harness/in-process.ts";
import { startCuttingProxy, type Cut } from "./cutting-proxy.ts";
import { answering } from "./made-turn.ts";

const LOST_MS = 60_000;

/** Of each test another: what a turnd has run it does not run again. */
let requestId = "";
beforeEach(() => (requestId = `request-${randomUUID()}`));

test("a turn is admitted, followed to its end and its result read", async () => {
  const turnd = createTurndClient({ baseUrl: (await sharedDaemon()).url });
  const session = await turnd.createSession({ executor: "cli-b", session_id: "session-0001" });
  const admitted = await turnd.submit({
    session_id: session.session_id,
    request_id: requestId,
    input: "tool ls\nDone.",
  });
  const events = await collect(turnd, admitted.turn_id);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: { status: "completed", output: "Done." } });
  expect(await turnd.result(admitted.turn_id)).toMatchObject({ status: "completed", output: "Done." });
  expect(await turnd.turnOfRequest(requestId)).toMatchObject({ turn_id: admitted.turn_id, status: "completed" });
  expect((await turnd.session("session-0001")).turns).toEqual([admitted.turn_id]);
  expect(await turnd.turn(admitted.turn_id)).toMatchObject({ last_seq: events.length });
});

test("a turn is waited for across cuts, recorded, replayed and listed", async () => {
  const daemon = await sharedDaemon();
  // Every connection is cut behind its first event, of which a waiting client needs none but the last.
  const proxy = await startCuttingProxy(
    () => daemon.url,
    ({ sent }) => (sent.includes("\n\n") ? sent.indexOf("\n\n") + 2 : undefined),
  );
  onTestFinished(() => proxy.close());
  const turnd = createTurndClient({ baseUrl: proxy.url });
  const { turn_id, session_id, request_id } = await turnd.submit({ executor: "cli-b", input: "paced 3 0.05\nDone." });
  const result = await turnd.wait(turn_id);
  expect(result).toMatchObject({ turn_id, request_id, status: "completed", output: "Done." });
  expect(await turnd.wait(turn_id)).toEqual(result);
  expect((await turnd.result(turn_id, { explain: true })).decision.tried).not.toEqual([]);

  const replayed = await turnd.replay({ recording: await turnd.recording(turn_id), speed: "max" });
  expect(await turnd.wait(replayed.turn_id)).toMatchObject({ status: "completed", output: "Done." });
  const listed = await turnd.turns({ status: "completed", limit: 5 });
  expect(listed.map((turn) => turn.turn_id)).toEqual([replayed.turn_id, turn_id]);
  expect((await turnd.turns({ sessionId: session_id })).map((turn) => turn.turn_id)).toEqual([turn_id]);
  expect((await turnd.sessions()).map((session) => session.session_id)).toContain(session_id);
  expect(await turnd.executor("cli-b")).toMatchObject({ id: "cli-b", available: true });
  expect(await turnd.health()).toMatchObject({ status: "ok" });
});

test("a wait can be left, and the turn goes on", async () => {
  const turnd = createTurndClient({ baseUrl: (await sharedDaemon()).url });
  const { turn_id } = await turnd.submit({ executor: "cli-b", input: "before\nhang" });
  await expect(turnd.wait(turn_id, { signal: AbortSignal.timeout(300) })).rejects.toMatchObject({
    name: "TimeoutError",
  });
  expect(["queued", "running"]).toContain((await turnd.turn(turn_id)).status);
  const waiting = turnd.wait(turn_id);
  const receipt = await turnd.cancel(turn_id);
  expect(receipt).toMatchObject({ already_ended: false });
  expect(await waiting).toMatchObject({ status: "cancelled", cancelled_by: "request" });
  expect(await turnd.cancel(turn_id)).toMatchObject({ already_ended: true, ended: receipt.ended });
});

test("the same request is the same turn, and another body is refused by name", async () => {
  const turnd = createTurndClient({ baseUrl: (await sharedDaemon()).url });
  const request = { executor: "cli-b", session_id: "session-0001", request_id: requestId, input: "once" } as const;
  const first = await turnd.submit(request, { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" });
  expect((await turnd.submit(request)).turn_id).toBe(first.turn_id);
  await expect(turnd.submit({ ...request, input: "other" })).rejects.toMatchObject({ code: "request_id_conflict" });
  const [started] = await collect(turnd, first.turn_id);
  expect(started).toMatchObject({ type: "turn.started", data: { trace_id: "0af7651916cd43dd8448eb211c80319c" } });
});

test("a request that turnd does not have is undefined, and that of a deleted session is refused", async () => {
  const turnd = createTurndClient({ baseUrl: (await sharedDaemon()).url });
  expect(await turnd.turnOfRequest("never-seen")).toBeUndefined();
  const { turn_id } = await turnd.submit({
    executor: "cli-b",
    session_id: "session-0001",
    request_id: requestId,
    input: "x",
  });
  await collect(turnd, turn_id);
  await turnd.deleteSession("session-0001");
  await expect(turnd.turnOfRequest(requestId)).rejects.toMatchObject({ code: "session_not_found" });
  await expect(turnd.deleteSession("session-0001")).rejects.toBeInstanceOf(ProblemError);
});

test("a cancel ends the turn and its events", async () => {
  const turnd = createTurndClient({ baseUrl: (await sharedDaemon()).url });
  const { turn_id } = await turnd.submit({ executor: "cli-b", request_id: requestId, input: "before\nhang" });
  const following = collect(turnd, turn_id);
  const receipt = await turnd.cancel(turn_id);
  expect(receipt).toMatchObject({ turn_id, status: "cancelled" });
  expect((await following).at(-1)).toMatchObject({ type: "turn.ended", data: { status: "cancelled" } });
});

test("what turnd is and has can be asked", async () => {
  const turnd = createTurndClient({ baseUrl: (await inProcessDaemon()).url });
  expect((await turnd.ready()).checks.length).toBeGreaterThan(0);
  expect((await turnd.executors()).map(({ id }) => id)).toEqual(["cli-a", "cli-b"]);
  expect(await turnd.sandbox()).toHaveProperty("workspace");
});

test("the token is sent, and a wrong one refused", async () => {
  const { url } = await inProcessDaemon({ TURND_TOKEN: "secret-token-1" });
  await expect(createTurndClient({ baseUrl: url }).executors()).rejects.toMatchObject({ code: "unauthorized" });
  expect(await createTurndClient({ baseUrl: url, token: "secret-token-1" }).executors()).toHaveLength(2);
});

test("a stream cut after every single event, and in the middle of every one, loses and repeats nothing", async () => {
  const daemon = await sharedDaemon();
  const direct = createTurndClient({ baseUrl: daemon.url });
  const { turn_id } = await direct.submit({
    executor: "cli-b",
    request_id: requestId,
    input: "burst 12\ntool ls\nDone.",
  });
  const whole = await collect(direct, turn_id);
  // Odd connections pass one event and the half of the next, even ones an event exactly.
  const keep = ({ connection, sent }: Cut): number | undefined => {
    const first = sent.indexOf("\n\n");
    if (first === -1) return undefined;
    if (connection % 2 === 0) return first + 2;
    const second = sent.indexOf("\n\n", first + 2);
    return second === -1 ? undefined : Math.floor((first + second) / 2) + 1;
  };
  const proxy = await startCuttingProxy(() => daemon.url, keep);
  onTestFinished(() => proxy.close());
  const cut = await collect(createTurndClient({ baseUrl: proxy.url }), turn_id);
  expect(cut).toEqual(whole);
  expect(proxy.connections).toBeGreaterThanOrEqual(whole.length - 1);
});

test("a live stream is followed across cuts", async () => {
  const daemon = await sharedDaemon();
  const proxy = await startCuttingProxy(
    () => daemon.url,
    ({ sent }) => {
      const third = [...sent.matchAll(/\n\n/g)][2];
      return third === undefined ? undefined : third.index + 2;
    },
  );
  onTestFinished(() => proxy.close());
  const turnd = createTurndClient({ baseUrl: proxy.url });
  const { turn_id } = await turnd.submit({ executor: "cli-b", request_id: requestId, input: "paced 10 0.02" });
  const events = await collect(turnd, turn_id);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(({ type }) => type === "message")).toHaveLength(10);
  expect(proxy.connections).toBeGreaterThan(2);
});

test("reading goes on after a cursor, and at the end there is nothing", async () => {
  const turnd = createTurndClient({ baseUrl: (await sharedDaemon()).url });
  const { turn_id } = await turnd.submit({ executor: "cli-b", request_id: requestId, input: "burst 3" });
  const whole = await collect(turnd, turn_id);
  expect(await collect(turnd, turn_id, 2)).toEqual(whole.slice(2));
  expect(await collect(turnd, turn_id, whole.length)).toEqual([]);
  await expect(collect(turnd, turn_id, whole.length + 1)).rejects.toMatchObject({ reason: "shorter" });
  await expect(collect(turnd, "no-such-turn")).rejects.toMatchObject({ code: "turn_not_found" });
});

test("an abort ends the reading with its reason", async () => {
  const turnd = createTurndClient({ baseUrl: (await sharedDaemon()).url });
  const { turn_id } = await turnd.submit({ executor: "cli-b", request_id: requestId, input: "before\nhang" });
  const controller = new AbortController();
  const reason = new Error("enough");
  const seen: ReadEvent[] = [];
  await expect(async () => {
    for await (const event of turnd.follow(turn_id, { lostAfterMs: LOST_MS, signal: controller.signal })) {
      seen.push(event);
      if (event.type === "message") controller.abort(reason);
    }
  }).rejects.toBe(reason);
  expect(seen.length).toBeGreaterThan(0);
  await turnd.cancel(turn_id);
});

test("a turnd that does not answer is lost after the given time, and reported as unreachable", async () => {
  const turnd = createTurndClient({ baseUrl: "http://127.0.0.1:9" });
  await expect(collect(turnd, "turn-1", 0, 300)).rejects.toBeInstanceOf(TurndUnreachable);
  await expect(turnd.turn("turn-1")).rejects.toBeInstanceOf(TurndUnreachable);
});

test("5xx, too many streams and a request that came too late are tried again, other refusals are not", async () => {
  const answers = [503, 408, 429, 502, 504];
  const url = await answering((_request, response) => {
    const status = answers.shift() ?? 404;
    const code = { 503: "shutting_down", 429: "too_many_streams", 504: "upstream_timeout", 404: "turn_not_found" }[
      status
    ];
    response.writeHead(status, { "content-type": "application/json" });
    response.end(code === undefined ? "<html>Bad gateway</html>" : JSON.stringify({ detail: { code, message: "no" } }));
  });
  await expect(collect(createTurndClient({ baseUrl: url }), "turn-1")).rejects.toMatchObject({
    code: "turn_not_found",
  });
  expect(answers).toEqual([]);
});

const MESSAGE =
  'data: {"v":1,"seq":2,"at":"2026-01-01T00:00:00.000Z","turn_id":"t","session_id":"s","executor":"cli-b","type":"message","data":{"message_id":"m","text":"x"}}';

test.each([
  ["a gap", `id: 2\nevent: message\n${MESSAGE}\n\n`],
  ["an end of another shape", 'id: 1\nevent: end\ndata: {"v":2}\n\n'],
])("%s in a stream is asked for again, and then a fault of the protocol", async (_name, frame) => {
  let connections = 0;
  const url = await answering((_request, response) => {
    connections += 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(frame);
  });
  await expect(collect(createTurndClient({ baseUrl: url }), "turn-1")).rejects.toBeInstanceOf(TurndProtocolError);
  expect(connections).toBe(3);
});

test("events that stay unreadable are given as what they are, and those around them are read", async () => {
  const frames = [
    "id: 1\nevent: message\ndata: what\n\n",
    `id: 2\nevent: message\n${MESSAGE}\n\n`,
    'id: 3\nevent: later\ndata: {"v":2}\n\n',
  ];
  let connections = 0;
  const url = await answering(({ headers }, response) => {
    connections += 1;
    const rest = frames.slice(Number(headers["last-event-id"] ?? 0));
    if (rest.length > 0) response.writeHead(200, { "content-type": "text/event-stream" }).end(rest.join(""));
    else response.writeHead(204).end();
  });
  expect(await collect(createTurndClient({ baseUrl: url }), "turn-1")).toMatchObject([
    { seq: 1, type: "unreadable", reason: "not_json", line: "what" },
    { seq: 2, type: "message" },
    { seq: 3, type: "unreadable", reason: "bad_shape", line: '{"v":2}' },
  ]);
  expect(connections).toBe(4);
});

test("an event that was broken on its way is read when it is asked for again", async () => {
  let connections = 0;
  const url = await answering(({ headers }, response) => {
    connections += 1;
    const text = connections === 1 ? "data: {" : MESSAGE.replace('"seq":2', '"seq":1');
    if (headers["last-event-id"] === "1") response.writeHead(204).end();
    else response.writeHead(200, { "content-type": "text/event-stream" }).end(`id: 1\nevent: message\n${text}\n\n`);
  });
  expect(await collect(createTurndClient({ baseUrl: url }), "turn-1")).toMatchObject([{ seq: 1, type: "message" }]);
});

test("an answer of another shape is a fault of the protocol", async () => {
  const url = await answering((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"status":"fine"}');
  });
  await expect(createTurndClient({ baseUrl: url }).turn("turn-1")).rejects.toBeInstanceOf(TurndProtocolError);
});

test("time in which the caller holds an event is no silence of turnd's", async () => {
  const daemon = await sharedDaemon();
  const proxy = await startCuttingProxy(
    () => daemon.url,
    ({ sent }) => (sent.includes("\n\n") ? sent.indexOf("\n\n") + 2 : undefined),
  );
  onTestFinished(() => proxy.close());
  const turnd = createTurndClient({ baseUrl: proxy.url });
  const { turn_id } = await turnd.submit({ executor: "cli-b", request_id: requestId, input: "burst 2" });
  const seen: number[] = [];
  for await (const { seq } of turnd.follow(turn_id, { lostAfterMs: 2_000 })) {
    seen.push(seq);
    // Longer than turnd may be silent, where turnd is not.
    if (seq === 1) await new Promise((resolve) => setTimeout(resolve, 2_100));
  }
  expect(seen.length).toBeGreaterThan(3);
});

async function collect(turnd: TurndClient, turnId: string, afterSeq = 0, lostAfterMs = LOST_MS): Promise<ReadEvent[]> {
  const events: ReadEvent[] = [];
  for await (const event of turnd.follow(turnId, { after: afterSeq, lostAfterMs })) events.push(event);
  return events;
}
