import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bytesOf } from "../../../../../src/turnd/daemon/replay/pieces.ts";
import { LoggedEvent } from "../../../../../src/turnd/protocol/index.ts";
import type { Client } from "../../../../harness/client.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { hasTrueDigest, withoutTimeAndIds } from "../../../../harness/recordings.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";
import { paced } from "./paced-recording.ts";

const eventsOf = async (turnd: Client, turnId: string): Promise<string> =>
  (await turnd.request("GET", `/v1/turns/${turnId}/events?follow=true`)).text;

test("a replay is resumed after kill -9 at any instant: no event lost, none twice", { timeout: 300_000 }, async () => {
  const directory = temporaryDirectory(onTestFinished);
  let turnd = await fakeDaemonIn(directory);
  const { timeline = [], ...rest } = paced(60, 1_000, 1_000);
  const warning = { type: "warning" as const, at: "2026-01-01T00:00:00Z", code: "processes_left", message: "1 (sh)" };
  // One that is emitted before most kills, and one after.
  const warned = timeline.flatMap((entry, index) => (index === 5 || index === 30 ? [warning, entry] : [entry]));
  // Ten seconds of ours early on: the first kill finds it playing, however loaded the machine is.
  const later = (at: string): string => new Date(Date.parse(at) + 400_000).toISOString();
  for (const entry of warned.slice(8)) if (entry !== warning) entry.at = later(entry.at);
  const recording = { ...rest, timeline: warned };
  const whole = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording });
  const expected = withoutTimeAndIds(await eventsOf(turnd, whole.body.turn_id));
  const { body } = await turnd.request("POST", "/v1/replays", { recording, speed: 40, request_id: "request-1" });
  let kills = 0;
  for (const messages of [2, 15, 16, 40, 60]) {
    await waitFor(`${messages} messages`, async () => {
      const events = await turnd.events(body.turn_id);
      return events.filter(({ type }) => type === "message").length >= messages;
    });
    if ((await turnd.request("GET", `/v1/turns/${body.turn_id}`)).body.status !== "running") break;
    turnd.kill("SIGKILL");
    await turnd.exited;
    kills += 1;
    turnd = await fakeDaemonIn(directory);
  }
  expect(kills).toBeGreaterThan(0);
  const text = await eventsOf(turnd, body.turn_id);
  expect(withoutTimeAndIds(text)).toEqual(expected);
  expect(hasTrueDigest(text)).toBe(true);
  const repeat = await turnd.request("POST", "/v1/replays", { recording, speed: 40, request_id: "request-1" });
  expect([repeat.status, repeat.body.turn_id]).toEqual([200, body.turn_id]);
  const turn = join(turnd.state, "sessions", body.session_id, "turns", body.turn_id);
  expect(readFileSync(join(turn, "stdout.jsonl")).equals(Buffer.concat(recording.stdout.map(bytesOf)))).toBe(true);
  expect(readFileSync(join(turn, "stderr.log"), "utf8")).toBe("first\nsecond\n");
  expect(statSync(join(turn, "stdout.jsonl")).mode & 0o777).toBe(0o600);
  // Nothing was started for it.
  expect(() => statSync(join(turn, "started"))).toThrow("ENOENT");
});

test("a replay that was being cancelled when turnd was killed plays no further", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  for (const speed of ["max", 1] as const) {
    // At any speed nothing follows what was logged: the log is cut, as if the rest had not been emitted yet.
    const { body } = await first.request("POST", "/v1/replays", { recording: paced(3, 3_600_000), speed });
    await waitFor("the start", async () => (await first.events(body.turn_id)).length >= 2);
  }
  first.kill("SIGKILL");
  await first.exited;
  const turns = (await readdir(join(first.state, "sessions"), { recursive: true }))
    .filter((path) => path.endsWith("turn.json"))
    .map((path) => join(first.state, "sessions", path, ".."));
  expect(turns).toHaveLength(2);
  for (const turn of turns) {
    const file: { replay: object } = JSON.parse(readFileSync(join(turn, "turn.json"), "utf8"));
    const cancelled = { ...file, ended_by: "cancel", replay: { ...file.replay, is_played: false } };
    writeFileSync(join(turn, "turn.json"), JSON.stringify(cancelled));
    const logged = readFileSync(join(turn, "events.jsonl"), "utf8").split("\n").slice(0, 2);
    writeFileSync(join(turn, "events.jsonl"), `${logged.join("\n")}\n`);
    rmSync(join(turn, "result.json"), { force: true });
  }
  const second = await fakeDaemonIn(directory);
  for (const turn of turns) {
    const text = await eventsOf(second, basename(turn));
    const events = text
      .trimEnd()
      .split("\n")
      .map((line) => LoggedEvent.parse(JSON.parse(line)));
    expect(events.map(({ type }) => type)).toEqual(["turn.started", "session.bound", "turn.ended"]);
    expect(events.at(-1)).toMatchObject({ data: { status: "cancelled", cancelled_by: "request" } });
    expect(hasTrueDigest(text)).toBe(true);
    expect(readFileSync(join(turn, "stdout.jsonl"), "utf8").trimEnd().split("\n")).toHaveLength(1);
  }
});

test("SIGTERM ends a replay that runs as daemon_stopped and leaves one that waits for the next start", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory, { TURND_MAX_TURNS: "1" });
  const running = await first.request("POST", "/v1/replays", { recording: paced(2, 3_600_000), speed: 1 });
  const waiting = await first.request("POST", "/v1/replays", { recording: paced(2, 0) });
  await waitFor("the start", async () => (await first.events(running.body.turn_id)).length >= 2);
  expect(await first.stop()).toBe(0);
  const second = await fakeDaemonIn(directory);
  const ended = (await second.request("GET", `/v1/turns/${running.body.turn_id}/result`)).body;
  expect(ended).toMatchObject({ status: "failed", failure: { code: "daemon_stopped", retryable: true } });
  await eventsOf(second, waiting.body.turn_id);
  expect((await second.request("GET", `/v1/turns/${waiting.body.turn_id}/result`)).body.status).toBe("completed");
});
