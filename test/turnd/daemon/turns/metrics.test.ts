import { expect, onTestFinished, test } from "vitest";
import type { TestDaemon } from "../../../harness/daemon.ts";
import { fakeDaemon, fakeDaemonIn } from "../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

const TOKEN = "token-of-this-test";
const AUTHORIZATION = { authorization: `Bearer ${TOKEN}` };

/** Scrapes, and gives the value of each series; a series that is not there is undefined. */
async function scrape(turnd: TestDaemon): Promise<(series: string) => number | undefined> {
  const { status, headers, text } = await turnd.request("GET", "/metrics");
  expect([status, headers.get("content-type")]).toEqual([200, expect.stringMatching(/^text\/plain; version=0\.0\.4/)]);
  const values = new Map(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => {
        const space = line.lastIndexOf(" ");
        return [line.slice(0, space), Number(line.slice(space + 1))] as const;
      }),
  );
  return (series) => values.get(series);
}

test("turns are counted by how they ended, with their events, their duration and what they left behind", async () => {
  const turnd = await fakeDaemon();
  const done = await turnd.run({ executor: "cli-b", input: 'hello\nraw {"type":"new.kind"}\nraw not json' });
  const failed = await turnd.run({ executor: "cli-b", input: "shell setsid -f sleep 600\nexit 3" });
  expect([done.status, failed.status]).toEqual(["completed", "failed"]);
  const value = await scrape(turnd);
  const code = failed.failure?.code;
  expect(value('turnd_turns_total{executor="cli-b",status="completed",code="none"}')).toBe(1);
  expect(value(`turnd_turns_total{executor="cli-b",status="failed",code="${code}"}`)).toBe(1);
  expect(value('turnd_turn_duration_seconds_count{executor="cli-b",status="completed"}')).toBe(1);
  const used = (done.usage?.input_tokens ?? 0) + (failed.usage?.input_tokens ?? 0);
  expect(used).toBeGreaterThan(0);
  expect(value('turnd_tokens_total{executor="cli-b",kind="input"}')).toBe(used);
  expect(value('turnd_events_written_total{executor="cli-b"}')).toBe(done.counts.events + failed.counts.events);
  expect(value('turnd_records_unknown_total{executor="cli-b",cli_version="0.139.0"}')).toBe(2);
  expect(value('turnd_first_event_seconds_count{executor="cli-b"}')).toBe(2);
  expect(value('turnd_first_event_seconds_bucket{le="+Inf",executor="cli-b"}')).toBe(2);
  expect(value("turnd_processes_swept_total")).toBe(1);
  expect(value("nodejs_eventloop_lag_seconds")).toBeDefined();
  // The first scrape: nothing looked at the event loop before it.
  for (const figure of ["min", "max", "mean", "stddev"])
    expect(Number(value(`nodejs_eventloop_lag_${figure}_seconds`))).toBeLessThan(3_600);
  expect(value("process_resident_memory_bytes")).toBeGreaterThan(0);
});

test("a recording that is played is counted as a replay, and as no turn of its CLI", async () => {
  const turnd = await fakeDaemon();
  const failed = await turnd.run({ executor: "cli-b", input: "exit 3" });
  const recording = (await turnd.request("GET", `/v1/turns/${failed.turn_id}/recording`)).body;
  const replayed = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording, speed: "max" });
  expect(replayed.body.status).toBe("failed");
  const value = await scrape(turnd);
  const code = failed.failure?.code;
  expect(value(`turnd_turns_total{executor="cli-b",status="failed",code="${code}"}`)).toBe(1);
  expect(value(`turnd_turns_total{executor="replay",status="failed",code="${code}"}`)).toBe(1);
  expect(value('turnd_events_written_total{executor="cli-b"}')).toBe(failed.counts.events);
});

test("what waits, runs and is read at this moment is reported, and what is over no longer", async () => {
  const turnd = await fakeDaemon({ TURND_MAX_TURNS: "1" });
  const { turn_id: running, session_id: session } = await turnd.admit({ executor: "cli-b", input: "hang" });
  const { turn_id: waiting } = await turnd.admit({ session_id: session, input: "hello" });
  const left = new AbortController();
  const reading = (async () => {
    try {
      for await (const _ of turnd.follow(running, { signal: left.signal })) continue;
    } catch (error) {
      if (!left.signal.aborted) throw error;
    }
  })();
  const during = await waitFor("a stream", async () => {
    const value = await scrape(turnd);
    return value("turnd_streams_open") === 1 && value("turnd_turns_running") === 1 && value;
  });
  expect(during("turnd_turns_queued")).toBe(1);
  left.abort();
  await reading;
  await turnd.request("POST", `/v1/turns/${running}/cancel`);
  await turnd.request("POST", `/v1/turns/${waiting}/cancel`);
  const after = await waitFor("no stream", async () => {
    const value = await scrape(turnd);
    return value("turnd_streams_open") === 0 && value;
  });
  expect([after("turnd_turns_running"), after("turnd_turns_queued")]).toEqual([0, 0]);
});

test("events are counted apart by whether their client was there when they were logged", async () => {
  const turnd = await fakeDaemon();
  const { turn_id: turn, session_id: session } = await turnd.admit({ executor: "cli-b", input: "paced 20 0.05" });
  for await (const frame of turnd.follow(turn)) if (frame.event === "end") break;
  const { last_seq: total } = (await turnd.request("GET", `/v1/turns/${turn}`)).body;
  const first = await scrape(turnd);
  const [live, late] = ["live", "late"].map((kind) => first(`turnd_events_sent_total{kind="${kind}"}`) ?? 0);
  expect(live).toBeGreaterThan(0);
  expect((live ?? 0) + (late ?? 0)).toBe(total);
  await turnd.events(turn);
  await turnd.request("GET", `/v1/sessions/${session}/events`);
  const second = await scrape(turnd);
  expect(second('turnd_events_sent_total{kind="live"}')).toBe(live);
  expect(second('turnd_events_sent_total{kind="late"}')).toBe((late ?? 0) + 2 * total);
});

test("events that an earlier daemon had logged are counted as skipped, and not as written again", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const before = await fakeDaemonIn(directory);
  const { turn_id: turn } = await before.admit({ executor: "cli-b", input: "one\ntwo\nhang" });
  await waitFor("its events", async () => (await before.request("GET", `/v1/turns/${turn}`)).body.last_seq >= 4);
  before.kill("SIGKILL");
  await before.exited;
  const turnd = await fakeDaemonIn(directory);
  const value = await waitFor("the turn", async () => {
    const scraped = await scrape(turnd);
    return (scraped("turnd_events_skipped_total") ?? 0) >= 3 && scraped;
  });
  // turn.started is turnd's own; the rest came from lines.
  expect(value("turnd_events_skipped_total")).toBe(3);
  expect(value('turnd_first_event_seconds_count{executor="cli-b"}')).toBeUndefined();
  await turnd.request("POST", `/v1/turns/${turn}/cancel`);
});

test("the figures need the token, and hold neither it, nor a key, nor an id", async () => {
  const turnd = await fakeDaemon({ TURND_TOKEN: TOKEN });
  expect((await turnd.request("GET", "/metrics")).status).toBe(401);
  const { body } = await turnd.request(
    "POST",
    "/v1/turns?wait_ms=60000",
    { executor: "cli-b", input: "hello" },
    AUTHORIZATION,
  );
  expect(body.status).toBe("completed");
  const { status, text } = await turnd.request("GET", "/metrics", undefined, AUTHORIZATION);
  expect(status).toBe(200);
  for (const secret of [TOKEN, "FAKE-KEY-FOR-TESTS", body.turn_id, body.session_id, body.request_id]) {
    expect(text).not.toContain(secret);
  }
});
