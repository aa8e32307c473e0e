import { join } from "node:path";
import { expect, test } from "vitest";
import { LoggedEvent } from "../../../../../src/turnd/protocol/index.ts";
import { listRecordings, oneOfEachEnd } from "../../executors/recordings.ts";
import type { Client } from "../../../../harness/client.ts";
import { fakeDaemon } from "../../../../harness/fake-daemon.ts";
import { inProcessDaemon } from "../../../../harness/in-process.ts";
import { exportDocument, hasTrueDigest, withoutTimeAndIds } from "../../../../harness/recordings.ts";
import { REPOSITORY } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";
import { replayLines } from "../../replay/replay-lines.ts";
import { paced } from "./paced-recording.ts";

const FIXTURES = ["cli-a", "cli-b"].flatMap((executor) => listRecordings(join(REPOSITORY, "fixtures"), executor));

/** By CLI and version, as `cli-a/1.3.2`: that each document is its recording is `test/turnd/daemon/replay/documents.test.ts`. */
const VERSIONS = Map.groupBy(oneOfEachEnd(FIXTURES), ({ name }) => name.slice(0, name.lastIndexOf("/")));

const eventsOf = async (turnd: Client, turnId: string): Promise<string> =>
  (await turnd.request("GET", `/v1/turns/${turnId}/events?follow=true`)).text;

test.each([...VERSIONS])(
  "a fixture of %s, replayed over the API, gives the events that turnd replay gives, byte for byte but for time and ids; so does its export",
  async (_version, fixtures) => {
    const turnd = await inProcessDaemon({ TURND_MAX_BODY_BYTES: "100000000" });
    for (const [index, { directory, name }] of fixtures.entries()) {
      const recording = await exportDocument(directory);
      const answer = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording, speed: "max" });
      expect([name, answer.status]).toEqual([name, 200]);
      const text = await eventsOf(turnd, answer.body.turn_id);
      const expected = await replayLines(directory, { keepsOrder: true });
      expect([name, ...withoutTimeAndIds(text)]).toEqual([name, ...withoutTimeAndIds(expected.text)]);
      expect(hasTrueDigest(text)).toBe(true);
      const { status, failure, exit, output } = answer.body;
      expect({ status, failure, exit, output }).toEqual({
        status: expected.ended.status,
        failure: expected.ended.failure,
        exit: expected.ended.exit,
        output: expected.ended.output,
      });
      const exported = (await turnd.request("GET", `/v1/turns/${answer.body.turn_id}/recording`)).body;
      const speed = index % 2 === 0 ? "max" : 1_000_000;
      const again = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording: exported, speed });
      const events = await eventsOf(turnd, again.body.turn_id);
      expect([name, withoutTimeAndIds(events)]).toEqual([name, withoutTimeAndIds(text)]);
    }
  },
);

test("a replay is a turn: admitted, listed, looked at, its events under the recorded CLI's name", async () => {
  const turnd = await inProcessDaemon();
  const body = { recording: paced(3, 0), session_id: "replays-1", request_id: "request-1", metadata: { why: "test" } };
  const admitted = await turnd.request("POST", "/v1/replays", body);
  expect(admitted.status).toBe(202);
  const { turn_id: id } = admitted.body;
  expect(admitted.body).toMatchObject({ session_id: "replays-1", request_id: "request-1" });
  const events = (await eventsOf(turnd, id)).trimEnd().split("\n");
  expect(events.map((line) => LoggedEvent.parse(JSON.parse(line)).executor)).toEqual(events.map(() => "cli-b"));
  const expected = { turn_id: id, executor: "replay", status: "completed", metadata: { why: "test" } };
  expect((await turnd.request("GET", `/v1/turns/${id}`)).body).toMatchObject({ ...expected, mode: "execute" });
  expect((await turnd.request("GET", `/v1/turns/${id}/result`)).body).toMatchObject({
    ...expected,
    output: "message 3",
  });
  expect((await turnd.request("GET", "/v1/turns?session_id=replays-1")).body.turns).toMatchObject([expected]);
  expect((await turnd.request("GET", "/v1/requests/request-1")).body.turn_id).toBe(id);
  expect((await turnd.request("GET", "/v1/sessions/replays-1")).body).toMatchObject({
    executor: "replay",
    turns: [id],
  });
});

test("the same request is the same replay, another recording under its id a conflict", async () => {
  const turnd = await inProcessDaemon();
  const body = { recording: paced(1, 0), request_id: "request-1" };
  const answers = await Promise.all(Array.from({ length: 50 }, () => turnd.request("POST", "/v1/replays", body)));
  expect(new Set(answers.map((answer) => answer.body.turn_id)).size).toBe(1);
  expect(answers.filter((answer) => answer.status === 202)).toHaveLength(1);
  const other = await turnd.request("POST", "/v1/replays", { ...body, recording: paced(2, 0) });
  expect([other.status, other.body.detail.code]).toEqual([409, "request_id_conflict"]);
  const asTurn = await turnd.request("POST", "/v1/turns", { executor: "cli-b", input: "x", request_id: "request-1" });
  expect([asTurn.status, asTurn.body.detail.code]).toEqual([409, "request_id_conflict"]);
});

test("sessions of replays and of CLIs do not mix, and replay is no executor to look at", async () => {
  const turnd = await inProcessDaemon();
  await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording: paced(1, 0), session_id: "replays-1" });
  await turnd.request("POST", "/v1/sessions", { executor: "cli-b", session_id: "session-1" });
  const refused = await Promise.all([
    turnd.request("POST", "/v1/turns", { session_id: "replays-1", input: "x" }),
    turnd.request("POST", "/v1/turns", { session_id: "replays-1", executor: "cli-b", input: "x" }),
    turnd.request("POST", "/v1/replays", { recording: paced(1, 0), session_id: "session-1" }),
  ]);
  expect(refused.map(({ status, body }) => [status, body.detail.code])).toEqual(
    Array.from({ length: 3 }, () => [409, "executor_mismatch"]),
  );
  expect(refused[0]?.body.detail.message).toContain("POST /v1/replays");
  const named = await turnd.request("POST", "/v1/turns", { executor: "replay", input: "x" });
  expect([named.status, named.body.detail.fields[0].path]).toEqual([422, "executor"]);
  const looked = await turnd.request("GET", "/v1/executors/replay");
  expect([looked.status, looked.body.detail.code]).toEqual([404, "executor_not_found"]);
});

test("replays count among the turns that run and wait, and a session is deleted with them", async () => {
  const turnd = await inProcessDaemon({ TURND_MAX_TURNS: "1", TURND_MAX_QUEUED: "1" });
  const recording = paced(2, 3_600_000);
  const running = await turnd.request("POST", "/v1/replays", { recording, speed: 1, session_id: "replays-1" });
  await waitFor("the first message", async () =>
    (await turnd.events(running.body.turn_id)).some(({ type }) => type === "session.bound"),
  );
  const waiting = await turnd.request("POST", "/v1/replays", { recording, speed: 1, session_id: "replays-1" });
  expect([waiting.status, waiting.body.status, waiting.body.queue_position]).toEqual([202, "queued", 1]);
  const full = await turnd.request("POST", "/v1/replays", { recording });
  expect([full.status, full.body.detail.code]).toEqual([429, "queue_full"]);
  const early = await turnd.request("GET", `/v1/turns/${running.body.turn_id}/recording`);
  expect([early.status, early.body.detail.code, early.body.detail.turn.status]).toEqual([
    409,
    "turn_not_ended",
    "running",
  ]);
  expect((await turnd.request("DELETE", "/v1/sessions/replays-1")).status).toBe(204);
  expect((await turnd.request("GET", `/v1/turns/${running.body.turn_id}`)).status).toBe(404);
  expect((await turnd.request("GET", `/v1/turns/${running.body.turn_id}/recording`)).status).toBe(404);
});

test("at a factor lines come when their time has come, and a pause is no timeout of ours", async () => {
  const turnd = await inProcessDaemon({
    TURND_IDLE_TIMEOUT_MS: "40",
    TURND_START_TIMEOUT_MS: "40",
    TURND_TURN_TIMEOUT_MS: "50",
  });
  const recording = paced(3, 1_000, 2_000);
  const asked = Date.now();
  const answer = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording, speed: 10 });
  expect(answer.body).toMatchObject({ status: "completed", output: "message 3" });
  // The recording takes 5 s: never faster than a tenth of that. Slower is the machine's affair.
  expect(answer.body.duration_ms).toBeGreaterThanOrEqual(500);
  const times = (await turnd.events(answer.body.turn_id)).flatMap(({ type, at }) =>
    type === "message" ? [Date.parse(at)] : [],
  );
  expect(times).toHaveLength(3);
  // One line a second, at ten times the pace: none before its time. How much later is the machine's affair.
  for (const [index, time] of times.entries()) expect(time - asked).toBeGreaterThanOrEqual((index + 1) * 100);
});

test("without a timeline the records' own timestamps count", async () => {
  const turnd = await inProcessDaemon();
  const { directory } = FIXTURES.find(({ name }) => name === "cli-a/1.14.34/bad-key") ?? { directory: "" };
  const { timeline: _none, ...recording } = await exportDocument(directory);
  const [line = ""] = recording.stdout.flatMap((piece) => (typeof piece === "string" ? [piece] : []));
  const later = line.replace(/"timestamp":(\d+)/, (_, ms: string) => `"timestamp":${Number(ms) + 3_000}`);
  const twice = { ...recording, stdout: [line, later] };
  const answer = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording: twice, speed: 10 });
  expect(answer.body.duration_ms).toBeGreaterThanOrEqual(300);
  const fast = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording: twice, speed: "max" });
  expect(withoutTimeAndIds(await eventsOf(turnd, answer.body.turn_id))).toEqual(
    withoutTimeAndIds(await eventsOf(turnd, fast.body.turn_id)),
  );
});

test("a cancel ends a replay at once, without a process in its receipt, and what was played is a recording", async () => {
  const turnd = await inProcessDaemon();
  const recording = paced(5, 600_000);
  const { body } = await turnd.request("POST", "/v1/replays", { recording, speed: 60_000 });
  await waitFor("a message", async () => (await turnd.events(body.turn_id)).some(({ type }) => type === "message"));
  const slow = await turnd.request("POST", "/v1/replays", { recording, speed: 1 });
  await waitFor("the start", async () =>
    (await turnd.events(slow.body.turn_id)).some(({ type }) => type === "session.bound"),
  );
  const receipt = (await turnd.request("POST", `/v1/turns/${slow.body.turn_id}/cancel`)).body;
  expect(receipt).toMatchObject({ status: "cancelled", already_ended: false, ended: [] });
  const text = await eventsOf(turnd, slow.body.turn_id);
  const end = LoggedEvent.parse(JSON.parse(text.trimEnd().split("\n").at(-1) ?? ""));
  expect(end).toMatchObject({ type: "turn.ended", data: { status: "cancelled", cancelled_by: "request" } });
  expect(end.data).not.toHaveProperty("exit");
  expect(hasTrueDigest(text)).toBe(true);
  const exported = (await turnd.request("GET", `/v1/turns/${slow.body.turn_id}/recording`)).body;
  expect(exported).toMatchObject({ turn: { ended_by: "cancel" }, exit: null, stdout: recording.stdout.slice(0, 1) });
  const again = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording: exported });
  expect(withoutTimeAndIds(await eventsOf(turnd, again.body.turn_id))).toEqual(withoutTimeAndIds(text));
});

test("a recorded cancel and a recorded timeout end as they did, at any speed", async () => {
  const turnd = await inProcessDaemon();
  const recording = paced(2, 1);
  for (const speed of ["max", 1_000]) {
    for (const [ended_by, expected] of [
      ["cancel", { status: "cancelled", cancelled_by: "request" }],
      ["idle_timeout", { status: "failed", failure: { code: "idle_timeout" } }],
    ] as const) {
      const cut = { ...recording, exit: { code: null, signal: "SIGTERM" }, stdout: recording.stdout.slice(0, 3) };
      const answer = await turnd.request("POST", "/v1/replays?wait_ms=60000", {
        recording: { ...cut, turn: { ...recording.turn, ended_by } },
        speed,
      });
      expect(answer.body).toMatchObject({ ...expected, exit: { signal: "SIGTERM" } });
    }
  }
});

test.each([
  ["recording", {}],
  ["recording.stdout", { recording: { v: 1, turn: { executor: "cli-b" }, exit: null, stderr: [] } }],
  ["recording.turn.executor", { recording: { ...paced(1, 0), turn: { executor: "replay" } } }],
  ["recording.turn.more", { recording: { ...paced(1, 0), turn: { executor: "cli-b", more: 1 } } }],
  ["recording.v", { recording: { ...paced(1, 0), v: 2 } }],
  ["recording.exit.code", { recording: { ...paced(1, 0), exit: { code: "0", signal: null } } }],
  ["recording.stdout.1", { recording: { ...paced(1, 0), stdout: ["", 7] } }],
  ["recording.stdout.0.base64", { recording: { ...paced(1, 0), stdout: [{ base64: "&" }] } }],
  [
    "recording.timeline.0.line",
    { recording: { ...paced(1, 0), timeline: [{ type: "line", at: "2026-01-01T00:00:00Z", line: 99 }] } },
  ],
  ["speed", { recording: paced(1, 0), speed: 0 }],
  ["speed", { recording: paced(1, 0), speed: "fast" }],
  ["speed", { recording: paced(100, 3_600_000), speed: 1 }],
  ["session_id", { recording: paced(1, 0), session_id: "x" }],
  ["more", { recording: paced(1, 0), more: 1 }],
])("a body that is wrong in %s is refused by name", async (path, body) => {
  const turnd = await inProcessDaemon();
  const answer = await turnd.request("POST", "/v1/replays", body);
  expect([answer.status, answer.body.detail.code]).toEqual([422, "invalid_request"]);
  expect(answer.body.detail.fields.map((field: { path: string }) => field.path)).toContain(path);
});

test("a body too large, in bytes or in values, is refused; of many wrong pieces no more are weighed than are named", async () => {
  const turnd = await inProcessDaemon({ TURND_MAX_BODY_BYTES: "5000000" });
  const huge = { recording: { ...paced(1, 0), stdout: ["x".repeat(6_000_000)] } };
  expect((await turnd.request("POST", "/v1/replays", huge)).body.detail.code).toBe("body_too_large");
  const wrong = (length: number) => ({ recording: { ...paced(1, 0), stdout: Array.from({ length }, () => 1) } });
  expect((await turnd.request("POST", "/v1/replays", wrong(1_000_000))).body.detail.code).toBe("body_too_large");
  const answer = await turnd.request("POST", "/v1/replays", wrong(500_000));
  expect([answer.status, answer.body.detail.fields.length]).toEqual([422, 50]);
});

test("a lossy resume and a failure of turnd's own are emitted where they stood, with a timeline or without", async () => {
  const turnd = await inProcessDaemon();
  const { timeline, ...recording } = paced(1, 0);
  const warning = { type: "warning", at: "2026-01-01T00:00:00Z", code: "processes_left", message: "1 (sh)" };
  const degraded = { ...recording.turn, degraded: { requested: "an-id", reason: "It is gone." } };
  const halted = { ...recording.turn, halted: { code: "storage_error", message: "The disk is full." } };
  const never = { ...recording.turn, created_at: "2026-01-01T00:00:00Z", ended_by: "cancel" };
  const play = async (changed: object, speed: unknown = "max"): Promise<LoggedEvent[]> => {
    const { body } = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording: changed, speed });
    return turnd.events(body.turn_id);
  };
  const types = (events: readonly LoggedEvent[]): string[] => events.map(({ type }) => type);
  for (const speed of ["max", 1_000]) {
    const first = ["turn.started", "session.degraded", "session.bound", "message", "turn.ended"];
    expect(types(await play({ ...recording, turn: degraded }, speed))).toEqual(first);
    const after = ["turn.started", "session.bound", "message", "warning", "session.degraded", "turn.ended"];
    const last = [...(timeline ?? []).slice(0, -1), warning, { type: "degraded", at: warning.at }];
    expect(types(await play({ ...recording, turn: degraded, timeline: last }, speed))).toEqual(after);
    expect((await play({ ...recording, turn: halted }, speed)).at(-1)).toMatchObject({
      data: { status: "failed", output: "message 1", failure: { code: "storage_error" } },
    });
    expect(types(await play({ ...recording, turn: never }, speed))).toEqual(["turn.ended"]);
  }
});

test("an export takes a place among the streams, and a client that leaves gives it back", async () => {
  const turnd = await inProcessDaemon({ TURND_MAX_STREAMS: "1" });
  const recording = { ...paced(1, 0), stderr: Array.from({ length: 150 }, () => `${"x".repeat(100_000)}\n`) };
  const { body } = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording });
  const url = `${turnd.url}/v1/turns/${body.turn_id}/recording`;
  const client = new AbortController();
  const reading = await fetch(url, { signal: client.signal });
  expect(reading.status).toBe(200);
  const second = await turnd.request("GET", `/v1/turns/${body.turn_id}/recording`);
  expect([second.status, second.body.detail.code]).toEqual([429, "too_many_streams"]);
  client.abort();
  const whole = await waitFor("the place", async () => {
    const answer = await turnd.request("GET", `/v1/turns/${body.turn_id}/recording`);
    return answer.status === 200 ? answer : undefined;
  });
  expect(whole.body.stderr).toEqual(recording.stderr);
});

test("a replay and a turn of a CLI run side by side", async () => {
  const turnd = await fakeDaemon();
  const slow = await turnd.request("POST", "/v1/replays", { recording: paced(2, 3_600_000), speed: 1 });
  expect((await turnd.run({ executor: "cli-b", input: "hello" })).output).toBe("hello");
  expect((await turnd.request("POST", `/v1/turns/${slow.body.turn_id}/cancel`)).body.status).toBe("cancelled");
});
