import { appendFileSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemon, fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../../harness/shared-daemon.ts";
import { expectSameAgain } from "../../../../harness/same-again.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

test("a CLI that prints nothing at all ends by the start timeout", async () => {
  const silent = await fakeDaemon({ TURND_START_TIMEOUT_MS: "400", TURND_PASS_ENV: "FAKE_SILENCE", FAKE_SILENCE: "1" });
  const result = await silent.run({ executor: "cli-b", input: "hello" });
  expect(result.failure).toMatchObject({ code: "start_timeout", retryable: true });
});

test("silence on stdout ends by the idle timeout, and a byte now and then keeps it going", async () => {
  const turnd = await sharedDaemon();
  const [idle, busy] = await Promise.all([
    turnd.run({ executor: "cli-b", input: "hello\nhang", idle_timeout_ms: 4_000 }),
    turnd.run({ executor: "cli-b", input: "paced 32 0.2", idle_timeout_ms: 5_000 }),
  ]);
  expect(idle.failure?.code).toBe("idle_timeout");
  expect(idle.output).toBe("hello");
  expect(busy.status).toBe("completed");
});

test("noise on stderr alone does not keep a turn from its idle timeout", async () => {
  const turnd = await sharedDaemon();
  const noise = Array.from({ length: 50 }, () => "stderr tick\nsleep 0.1").join("\n");
  expect((await turnd.run({ executor: "cli-b", input: noise, idle_timeout_ms: 700 })).failure?.code).toBe(
    "idle_timeout",
  );
});

test("a busy turn ends by the turn timeout", async () => {
  const turnd = await sharedDaemon();
  const result = await turnd.run({ executor: "cli-b", input: "paced 1000 0.05", timeout_ms: 5_000 });
  expect(result.failure).toMatchObject({ code: "turn_timeout", retryable: false });
  expect(result.counts.records).toBeGreaterThan(2);
});

test("a timeout counts while turnd is down, but neither before a process was started nor after it has ended", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory, { TURND_MAX_TURNS: "2" });
  const admit = (input: string) => first.admit({ executor: "cli-b", input, timeout_ms: 600_000 });
  const mark = join(first.workspace, "go-on");
  const ending = await admit(`hello\nshell until [ -e ${mark} ]; do sleep 0.05; done\nexit 3`);
  const running = await admit("hello\nhang");
  for (const { turn_id } of [ending, running]) {
    await waitFor("its first words", async () => (await first.events(turn_id)).some(({ type }) => type === "message"));
  }
  const waiting = await admit("hello");
  first.kill("SIGKILL");
  await first.exited;
  writeFileSync(mark, "");
  const directoryOf = ({ session_id, turn_id }: { session_id: string; turn_id: string }): string =>
    join(first.state, "sessions", session_id, "turns", turn_id);
  await waitFor("its end", () => existsSync(join(directoryOf(ending), "exit.json")));
  // As it were an hour later; the one that waits was about to be started.
  for (const turn of [ending, running, waiting]) {
    const path = join(directoryOf(turn), "turn.json");
    const file = JSON.parse(readFileSync(path, "utf8"));
    const { started_boot: boot } = file;
    const started_at = new Date(Date.now() - 3_600_000).toISOString();
    const earlier = boot === undefined ? {} : { started_boot: { ...boot, ms: boot.ms - 3_600_000 } };
    writeFileSync(path, JSON.stringify({ ...file, started_at, ...earlier }));
  }
  const second = await fakeDaemonIn(directory);
  const resultOf = async ({ turn_id }: { turn_id: string }) => {
    for await (const frame of second.follow(turn_id)) if (frame.event === "end") break;
    return (await second.request("GET", `/v1/turns/${turn_id}/result`)).body;
  };
  expect(await resultOf(ending)).toMatchObject({ status: "failed", exit: { code: 3 }, failure: { code: "crashed" } });
  expect((await resultOf(running)).failure).toMatchObject({ code: "turn_timeout" });
  const begun = await resultOf(waiting);
  expect([begun.status, begun.duration_ms < 600_000]).toEqual(["completed", true]);
});

test("0 switches a timeout off", async () => {
  const turnd = await fakeDaemon({ TURND_IDLE_TIMEOUT_MS: "200", TURND_TURN_TIMEOUT_MS: "200" });
  const result = await turnd.run({ executor: "cli-b", input: "sleep 0.8", idle_timeout_ms: 0, timeout_ms: 0 });
  expect(result.status).toBe("completed");
});

test("more output than allowed ends the turn as storage_error, and what was written is kept", async () => {
  const turnd = await fakeDaemon({ TURND_MAX_OUTPUT_BYTES: "1000000" });
  const result = await turnd.run({ executor: "cli-b", input: "hello\nbytes 200000000\nhang" });
  expect(result.failure?.code).toBe("storage_error");
  expect((await turnd.events(result.turn_id)).some((event) => event.type === "message")).toBe(true);
});

test("more on stderr than allowed ends the turn too", async () => {
  const turnd = await fakeDaemon({ TURND_MAX_OUTPUT_BYTES: "1000000" });
  const flood = "shell while :; do head -c 100000 /dev/zero | tr '\\0' x; echo; done >&2";
  const result = await turnd.run({ executor: "cli-b", input: `hello\n${flood}` });
  expect(result.failure?.code).toBe("storage_error");
  expect(result.failure?.message).toContain("stderr");
});

/** Makes its own turn's output a terabyte that takes no room on the disk: a tool inherits the files. */
const inflate = (descriptor: 1 | 2): string =>
  `shell exec /usr/bin/perl -e 'open(my $f, ">>&=", ${descriptor}) or die; truncate($f, 1e12) or die; sleep 600'`;

test.each(["stdout", "stderr"] as const)(
  "a %s of a terabyte ends the turn, and is read no further than allowed",
  async (file) => {
    const directory = temporaryDirectory(onTestFinished);
    const turnd = await fakeDaemonIn(directory, { TURND_MAX_OUTPUT_BYTES: "1000000" });
    const result = await turnd.run({ executor: "cli-b", input: `hello\n${inflate(file === "stdout" ? 1 : 2)}` });
    expect(result.failure?.code).toBe("storage_error");
    expect((await turnd.events(result.turn_id)).some((event) => event.type === "message")).toBe(true);
    const turn = join(turnd.state, "sessions", result.session_id, "turns", result.turn_id);
    expect(statSync(join(turn, file === "stdout" ? "stdout.jsonl" : "stderr.log")).size).toBe(1_000_000);
    await expectSameAgain(turnd, result.turn_id);
  },
);

test("a turn whose output is a terabyte is cancelled, also by the daemon that finds it so", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory, { TURND_MAX_OUTPUT_BYTES: "4000000000000" });
  const { turn_id, session_id } = await first.admit({ executor: "cli-b", input: `hello\nhang` });
  const path = join(first.state, "sessions", session_id, "turns", turn_id, "stdout.jsonl");
  await waitFor("its first words", async () => (await first.events(turn_id)).some(({ type }) => type === "message"));
  first.kill("SIGKILL");
  await first.exited;
  truncateSync(path, 1e12);
  // By the limit that holds now.
  const second = await fakeDaemonIn(directory, { TURND_MAX_OUTPUT_BYTES: "200000000" });
  await second.request("POST", `/v1/turns/${turn_id}/cancel`);
  // The receipt does not wait for all of that to be read.
  for await (const frame of second.follow(turn_id)) if (frame.event === "end") break;
  expect((await second.request("GET", `/v1/turns/${turn_id}`)).body.status).toMatch(/cancelled|failed/);
  expect(statSync(path).size).toBe(200_000_000);
});

/** So many bytes of the shortest lines that there are: each becomes an event of some 270 bytes. */
const flood = (bytes: number): string => `shell yes '{}' | head -c ${bytes}`;

test("a flood of short lines ends the turn before its events fill the disk, and what is kept is what is logged", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await fakeDaemonIn(directory, { TURND_MAX_OUTPUT_BYTES: "300000" });
  const result = await turnd.run({ executor: "cli-b", input: `hello\n${flood(299_000)}\nafter all` });
  expect(result.failure).toMatchObject({ code: "storage_error" });
  const turn = join(turnd.state, "sessions", result.session_id, "turns", result.turn_id);
  const logged = (await turnd.events(result.turn_id)).filter(({ type }) => type === "record.unknown");
  const kept = readFileSync(join(turn, "stdout.jsonl"), "utf8").split("\n");
  expect(kept.filter((line) => line === "{}").length).toBe(logged.length);
  expect(logged.length).toBeLessThan(90_000);
  expect((await turnd.events(result.turn_id)).at(-2)).toMatchObject({ type: "warning", data: { code: "output_cut" } });
});

test("a cancel answers when the processes are gone, and a deletion soon after, however much is still to be logged", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await fakeDaemonIn(directory);
  const input = `hello\n${flood(20_000_000)}; exec sleep 600`;
  const { turn_id: id, session_id: session } = await turnd.admit({ executor: "cli-b", input });
  const output = join(turnd.state, "sessions", session, "turns", id, "stdout.jsonl");
  await waitFor("the flood", () => existsSync(output) && statSync(output).size > 20_000_000);
  const { body } = await turnd.request("POST", `/v1/turns/${id}/cancel`);
  expect(body).toMatchObject({ status: "running", already_ended: false });
  expect(body.ended.map(({ command }: { command: string }) => command)).toContain("sleep");
  expect((await turnd.request("DELETE", `/v1/sessions/${encodeURIComponent(session)}`)).status).toBe(204);
  expect(existsSync(output)).toBe(false);
});

/** What a daemon has left that ended when the log of a flood was full: how much of its end it had written. */
const LEFT: Readonly<Record<string, (lines: string[]) => string[]>> = {
  "before the cut was logged": (lines) => lines.slice(0, -2),
  "before the cut was made": (lines) => lines.slice(0, -1),
  "in the middle of what it logged": (lines) => lines.slice(0, Math.floor(lines.length / 2)),
};

test.each(Object.entries(LEFT))(
  "a restart after the log was full, %s, keeps what is logged and says once that the rest is cut",
  async (_, keep) => {
    const directory = temporaryDirectory(onTestFinished);
    const env = { TURND_MAX_OUTPUT_BYTES: "300000" };
    const first = await fakeDaemonIn(directory, env);
    const ended = await first.run({ executor: "cli-b", input: `hello\n${flood(299_000)}\nafter all` });
    await first.stop();
    const turn = join(first.state, "sessions", ended.session_id, "turns", ended.turn_id);
    const [log, stdout] = [join(turn, "events.jsonl"), join(turn, "stdout.jsonl")];
    const kept = keep(readFileSync(log, "utf8").trimEnd().split("\n"));
    writeFileSync(log, kept.map((line) => `${line}\n`).join(""));
    appendFileSync(stdout, "{}\n".repeat(50_000));
    rmSync(join(turn, "result.json"));

    const second = await fakeDaemonIn(directory, env);
    for await (const frame of second.follow(ended.turn_id)) if (frame.event === "end") break;
    const events = await second.events(ended.turn_id);
    expect(events.slice(0, kept.length).map((event) => JSON.stringify(event))).toEqual(kept);
    const warnings = events.flatMap(({ type, data }) => (type === "warning" ? [data] : []));
    expect(warnings).toEqual([expect.objectContaining({ code: "output_cut" })]);
    const { body } = await second.request("GET", `/v1/turns/${ended.turn_id}/result`);
    expect(body.failure).toMatchObject({ code: "storage_error" });
    const printed = readFileSync(stdout, "utf8").split("\n");
    const logged = events.filter(({ type }) => type === "record.unknown");
    expect(printed.filter((line) => line === "{}").length).toBe(logged.length);
  },
);
