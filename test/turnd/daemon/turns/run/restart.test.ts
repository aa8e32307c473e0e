import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { LoggedEvent } from "../../../../../src/turnd/protocol/index.ts";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { processesNaming } from "../../../../harness/processes.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** Asserts that a turn's log is whole: dense, one end, right digest, each paced line once and in order. */
function checkLog(turnd: TestDaemon, sessionId: string, turnId: string, paced: number): void {
  const path = join(turnd.state, "sessions", sessionId, "turns", turnId, "events.jsonl");
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const events = lines.map((line) => LoggedEvent.parse(JSON.parse(line)));
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter((event) => event.type === "turn.started")).toHaveLength(1);
  const end = events.at(-1);
  expect(events.filter((event) => event.type === "turn.ended")).toHaveLength(1);
  if (end?.type !== "turn.ended") throw new Error("no turn.ended");
  expect([end.data.status, end.data.failure, end.data.exit]).toEqual([
    "completed",
    undefined,
    { code: 0, signal: null },
  ]);
  const texts = events.flatMap((event) => (event.type === "message" ? [event.data.text] : []));
  expect(texts).toEqual(Array.from({ length: paced }, (_, index) => `paced ${index + 1}`));

  expect(end.data.digest).toBe(
    createHash("sha256")
      .update(`${lines.slice(0, -1).join("\n")}\n`)
      .digest("hex"),
  );
}

test(
  "a turn is resumed after kill -9 at any instant: no event lost, none twice, the exit known",
  { timeout: 600_000 },
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    let turnd = await fakeDaemonIn(directory);
    const paced = 40;
    let instants = 0;
    const listRunning = async (): Promise<unknown[]> =>
      (
        await Promise.all(["queued", "running"].map((status) => turnd.request("GET", `/v1/turns?status=${status}`)))
      ).flatMap(({ body }) => body.turns);
    for (let round = 0; instants < 20; round += 1) {
      // Side by side, each at a pace of its own: a kill meets every one of them at another instant.
      const turns = await Promise.all(
        [0.03, 0.04, 0.05, 0.06].map((pace) =>
          turnd.admit({ executor: "cli-b", session_id: `session-${round}-${pace}`, input: `paced ${paced} ${pace}` }),
        ),
      );
      // Later and later: turnd comes to resume them on a slow machine too.
      let latestMs = 150;
      for (let running = await listRunning(); running.length > 0; running = await listRunning()) {
        await delay(Math.random() * latestMs);
        latestMs *= 1.5;
        turnd.kill("SIGKILL");
        await turnd.exited;
        instants += running.length;
        turnd = await fakeDaemonIn(directory);
      }
      for (const { session_id, turn_id } of turns) checkLog(turnd, session_id, turn_id, paced);
    }
  },
);

test("what a power cut has left of a log is written again from where it is not whole", async () => {
  const directory = temporaryDirectory(onTestFinished);
  let turnd = await fakeDaemonIn(directory);
  const session_id = "session-1";
  const go = join(turnd.workspace, "go");
  const input = `paced 20 0\nshell until [ -e ${go} ]; do sleep 0.02; done`;
  const { turn_id } = await turnd.admit({ executor: "cli-b", session_id, input });
  const log = join(turnd.state, "sessions", session_id, "turns", turn_id, "events.jsonl");
  await waitFor("all messages", async () => (await turnd.events(turn_id)).length >= 22);
  // Lines 4 to 8 never came to the disk, what is behind them did; then none but the first did.
  for (const [from, to] of [[3, 8] as const, [1, 22] as const]) {
    turnd.kill("SIGKILL");
    await turnd.exited;
    const bytes = readFileSync(log);
    const starts = [0, ...[...bytes.entries()].flatMap(([at, byte]) => (byte === 0x0a ? [at + 1] : []))];
    writeFileSync(log, bytes.fill(0, (starts[from] ?? 0) + 10, (starts[to] ?? 0) - 1));
    turnd = await fakeDaemonIn(directory);
    await waitFor("all messages", async () => (await turnd.events(turn_id)).length >= 22);
  }
  writeFileSync(go, "");
  for await (const frame of turnd.follow(turn_id)) if (frame.event === "end") break;
  checkLog(turnd, session_id, turn_id, 20);
});

test("a turn goes on after kill -9 under another TURND_MAX_LINE_BYTES: nothing twice, nothing lost, one warning", async () => {
  const directory = temporaryDirectory(onTestFinished);
  let turnd = await fakeDaemonIn(directory);
  const go = join(turnd.workspace, "go");
  const long = (id: string): string =>
    `raw ${JSON.stringify({ type: "item.started", item: { id, type: "mcp_tool_call", server: "s", tool: "t", arguments: { text: "x".repeat(3_000) }, status: "in_progress" } })}`;
  const until = (file: string): string => `shell until [ -e ${file} ]; do sleep 0.02; done`;
  const input = [long("item_90"), "one", "two", until(go), long("item_91"), "three", until(`${go}-on`)].join("\n");
  const { turn_id } = await turnd.admit({ executor: "cli-b", input });
  const lines = async (): Promise<string[]> =>
    (await turnd.request("GET", `/v1/turns/${turn_id}/events`)).text.split("\n").slice(0, -1);
  const textsOf = (all: readonly string[]): unknown[] =>
    all.map((line) => JSON.parse(line)).flatMap(({ type, data }) => (type === "message" ? [data.text] : []));
  await waitFor("two messages", async () => textsOf(await lines()).length === 2);
  const before = await lines();
  for (const limit of ["1024", "2048"]) {
    turnd.kill("SIGKILL");
    await turnd.exited;
    turnd = await fakeDaemonIn(directory, { TURND_MAX_LINE_BYTES: limit });
    writeFileSync(go, "");
    await waitFor("three messages", async () => textsOf(await lines()).length === 3);
  }
  writeFileSync(`${go}-on`, "");
  for await (const frame of turnd.follow(turn_id)) if (frame.event === "end") break;
  const after = await lines();
  expect(after.slice(0, before.length)).toEqual(before);
  expect(textsOf(after)).toEqual(["one", "two", "three"]);
  const events = after.map((line) => LoggedEvent.parse(JSON.parse(line)));
  const codes = events.flatMap((event) => (event.type === "warning" ? [event.data.code] : []));
  expect(codes).toEqual(["translation_changed"]);
  // The call that the log says has begun is closed; the one behind the restart is a line beyond the limit.
  expect(events.filter(({ type }) => type === "tool.started")).toHaveLength(1);
  expect(events.filter(({ type }) => type === "tool.ended")).toMatchObject([
    { data: { tool_call_id: "item_90", status: "interrupted" } },
  ]);
  expect(events.at(-1)).toMatchObject({
    type: "turn.ended",
    data: { status: "completed", counts: { events: events.length, unknown: 1, tools: 1 } },
  });
});

test("a turnd that cannot listen ends at once, and logs nothing of the turns it had resumed", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const { turn_id } = await first.admit({ executor: "cli-b", input: "hello\nhang" });
  await waitFor("the first message", async () =>
    (await first.events(turn_id)).some((event) => event.type === "message"),
  );
  first.kill("SIGKILL");
  await first.exited;
  const taken = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void taken.close());
  await once(taken, "listening");
  const address = taken.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  // The turn itself goes on for ever: a process that waited for it would not end.
  await expect(fakeDaemonIn(directory, { TURND_PORT: String(port) })).rejects.toThrow(
    /ended before it listened: [^]*exit code 1[^]*EADDRINUSE/,
  );
  const second = await fakeDaemonIn(directory);
  await second.request("POST", `/v1/turns/${turn_id}/cancel`);
  const events = await second.events(turn_id);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: { status: "cancelled" } });
});

test("a client goes on with Last-Event-ID across a restart, without a gap or a repeat", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const { turn_id } = await first.admit({ executor: "cli-b", input: "paced 60 0.02" });
  const seen: string[] = [];
  const killed = new AbortController();
  try {
    for await (const frame of first.follow(turn_id, { signal: killed.signal })) {
      seen.push(frame.id ?? "");
      if (seen.length === 20) first.kill("SIGKILL");
    }
  } catch {
    // The connection broke with the daemon, as it should.
  }
  await first.exited;
  const second = await fakeDaemonIn(directory);
  let last = "";
  for await (const frame of second.follow(turn_id, { afterSeq: Number(seen.at(-1)) })) {
    seen.push(frame.id ?? "");
    last = frame.event ?? "";
  }
  expect(last).toBe("end");
  expect(seen).toEqual(seen.map((_, index) => String(index + 1)));
});

test("a turn whose keeper is gone too ends as daemon_stopped, and its session is resumable", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const { turn_id, session_id } = await first.admit({ executor: "cli-b", input: "hello\nhang" });
  await waitFor("the first message", async () =>
    (await first.events(turn_id)).some((event) => event.type === "message"),
  );
  first.kill("SIGKILL");
  await first.exited;
  const started = JSON.parse(
    readFileSync(join(first.state, "sessions", session_id, "turns", turn_id, "started"), "utf8"),
  );
  process.kill(started.keeper, "SIGKILL");
  process.kill(started.pid, "SIGKILL");
  const second = await fakeDaemonIn(directory);
  for await (const frame of second.follow(turn_id)) if (frame.event === "end") break;
  const result = (await second.request("GET", `/v1/turns/${turn_id}/result`)).body;
  expect(result).toMatchObject({ status: "failed", failure: { code: "daemon_stopped", retryable: true } });
  expect(await second.run({ session_id, input: "again" })).toMatchObject({ status: "completed", resumed: true });
});

test("a turn that was cancelled before it ran, by a turnd that was killed then, starts no CLI", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const running = await first.admit({ executor: "cli-b", input: "hello\nhang" });
  const { session_id } = running;
  const waiting = await first.admit({ session_id, input: "hello" });
  first.kill("SIGKILL");
  await first.exited;
  // The reason is on the disk; the end had not come to the log yet.
  const turns = join(first.state, "sessions", session_id, "turns");
  const path = join(turns, waiting.turn_id, "turn.json");
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ended_by: "cancel" }));

  const second = await fakeDaemonIn(directory);
  await second.request("POST", `/v1/turns/${running.turn_id}/cancel`);
  for await (const frame of second.follow(waiting.turn_id)) if (frame.event === "end") break;
  expect((await second.events(waiting.turn_id)).map(({ type, data }) => [type, data])).toMatchObject([
    ["turn.ended", { status: "cancelled", cancelled_by: "request" }],
  ]);
  expect(existsSync(join(turns, waiting.turn_id, "started"))).toBe(false);
});

test("SIGTERM ends what runs as daemon_stopped, leaves nothing alive, and exits 0", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const running = await first.admit({ executor: "cli-b", input: "ignore-signals\nhello\nhang" });
  await waitFor("the first message", async () =>
    (await first.events(running.turn_id)).some((event) => event.type === "message"),
  );
  const started = JSON.parse(
    readFileSync(join(first.state, "sessions", running.session_id, "turns", running.turn_id, "started"), "utf8"),
  );
  expect(await first.stop()).toBe(0);
  for (const pid of [started.keeper, started.pid]) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  const second = await fakeDaemonIn(directory);
  const result = (await second.request("GET", `/v1/turns/${running.turn_id}/result`)).body;
  expect(result.failure.code).toBe("daemon_stopped");
});

test("SIGTERM ends in time what a cancel has given a longer grace, also where an earlier turnd gave it", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const patient = { TURND_CANCEL_GRACE_MS: "60000", TURND_SHUTDOWN_MS: "4000" };
  const first = await fakeDaemonIn(directory, patient);
  const cancelled = await first.admit({ executor: "cli-b", input: "ignore-signals\nhello\nhang" });
  const inherited = await first.admit({ executor: "cli-b", input: "ignore-signals\nhello\nhang" });
  const isAsked = ({ session_id: id, turn_id: turn }: typeof cancelled) =>
    readFileSync(join(first.state, "sessions", id, "turns", turn, "turn.json"), "utf8").includes('"ended_by":"cancel"');
  for (const turn of [cancelled, inherited]) {
    await waitFor("the first message", async () =>
      (await first.events(turn.turn_id)).some((event) => event.type === "message"),
    );
  }
  void first.request("POST", `/v1/turns/${inherited.turn_id}/cancel`).catch(() => undefined);
  await waitFor("the cancel", () => isAsked(inherited));
  first.kill("SIGKILL");
  await first.exited;
  const second = await fakeDaemonIn(directory, patient);
  void second.request("POST", `/v1/turns/${cancelled.turn_id}/cancel`).catch(() => undefined);
  await waitFor("the cancel", () => isAsked(cancelled));
  expect(await second.stop()).toBe(0);
  expect(processesNaming(`${first.state}/sessions`)).toEqual([]);
  const third = await fakeDaemonIn(directory);
  for (const { turn_id: id } of [cancelled, inherited]) {
    expect((await third.request("GET", `/v1/turns/${id}/result`)).body.status).toBe("cancelled");
  }
});

test("a lost result.json costs nothing: the result comes from the log", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const result = await first.run({ executor: "cli-b", input: "hello" });
  await first.stop();
  rmSync(join(first.state, "sessions", result.session_id, "turns", result.turn_id, "result.json"));
  const second = await fakeDaemonIn(directory);
  expect((await second.request("GET", `/v1/turns/${result.turn_id}/result`)).body).toEqual(result);
});
