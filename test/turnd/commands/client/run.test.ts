import { execa } from "execa";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { startDaemon, type TestDaemon } from "../../../harness/daemon.ts";
import { fakeEnv } from "../../../harness/fake-env.ts";
import { fakeDaemon, fakeDaemonIn } from "../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { widthOf } from "../../../../src/kit/command-line/text.ts";
import { collect, runCommand, runOnTerminal, startCommand } from "./commands.ts";

/** A record of the fake CLI whose text would steer a terminal. */
const HOSTILE = String.raw`raw {"type":"item.completed","item":{"id":"x","type":"agent_message","text":"a\u001b]0;owned\u0007b\u009b31mc\u202ed\r\ne"}}`;

let turnd: TestDaemon;
const cleanUps: (() => void)[] = [];

beforeAll(async () => {
  const directory = temporaryDirectory((cleanUp) => cleanUps.push(cleanUp));
  turnd = await startDaemon({ directory, env: fakeEnv(directory) });
});
afterAll(async () => {
  await turnd.stop();
  for (const cleanUp of cleanUps) cleanUp();
});

const newestTurn = async (asked = turnd) => (await asked.request("GET", "/v1/turns?limit=1")).body.turns[0];

test("a turn's events are shown as they come, and the exit code is that of its end", async () => {
  const running = startCommand(turnd.url, ["run", "--executor", "cli-b", "first\ntool ls -l\nsleep 0.5\nsecond"]);
  const out = collect(running.stdout);
  await out.has("* execute: ls -l\n  ok\n");
  expect((await newestTurn()).status).toBe("running");
  const { exitCode, stdout, stderr } = await running;
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^turn [0-9a-f-]{36}, cli-b \(fake-cli-b 0\.139\.0\), session .*\nfirst\n/);
  expect(stdout).toMatch(/\nsecond\ncompleted in .* s, 1 tool call/);

  const failed = await runCommand(turnd.url, ["run", "--executor=cli-b", "exit 3"]);
  expect([failed.exitCode, failed.stdout]).toEqual([1, expect.stringMatching(/\nfailed: crashed in [^]*exit:? /)]);
  // Words without quotes are one prompt; a session is continued by its id alone.
  const session = (await newestTurn()).session_id;
  expect(await runCommand(turnd.url, ["run", "-q", "--session", session, "two", "words"])).toEqual({
    exitCode: 0,
    stdout: "two words",
    stderr: "",
  });
  // The only one that can run turns needs no name.
  expect(await runCommand(turnd.url, ["run", "-q", "hello"])).toMatchObject({ exitCode: 0, stdout: "hello" });
});

test("--json gives the turn's own events, a line each; the prompt comes from standard input", async () => {
  const { stdout, exitCode } = await startCommand(turnd.url, ["run", "--executor", "cli-b", "--json", "-"], {
    input: `tool ls\n${HOSTILE}\n`,
  });
  const lines = stdout.split("\n");
  const events = lines.map((line): { turn_id: string; seq: number } => JSON.parse(line));
  expect([exitCode, events]).toEqual([0, await turnd.events(events[0]?.turn_id ?? "")]);
  // Nor does a terminal take it for anything but text.
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  const empty = await startCommand(turnd.url, ["run", "--executor", "cli-b", "-"], { input: " \n" });
  expect([empty.exitCode, empty.stderr]).toEqual([2, expect.stringContaining("empty")]);
});

test("nothing that a model writes steers the terminal; colours are for terminals that take them", async () => {
  const args = ["run", "--executor", "cli-b", `tool ls \u001b[2J\n${HOSTILE}`];
  const shown = await runOnTerminal(turnd.url, args);
  expect(shown.exitCode).toBe(0);
  expect(shown.stdout).toContain("\u001b[32mcompleted\u001b[39m");
  expect(shown.stdout).toContain("a\\x1b]0;owned\\x07b\\x9b31mc\\u202ed");
  // Only what turnd itself sends: colours, and the line that is drawn again.
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  const rest = shown.stdout.replaceAll(/\u001b\[(\d+m|K)/g, "");
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  expect(rest).not.toMatch(/[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f\u202e]/);
  const plain = await runOnTerminal(turnd.url, args, { NO_COLOR: "1" });
  expect(plain.stdout).toContain("completed in");
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  expect(plain.stdout).not.toMatch(/\u001b\[\d+m/);
  const { turn_id } = await newestTurn();
  for (const [env, hasColors] of [
    [{}, false],
    [{ FORCE_COLOR: "1" }, true],
    [{ FORCE_COLOR: "0" }, false],
  ] as const) {
    for (const command of ["tail", "show"]) {
      const { stdout, stderr } = await runCommand(turnd.url, [command, turn_id], env);
      expect([command, env, stdout.includes("\u001b["), stderr]).toEqual([command, env, hasColors, ""]);
    }
  }
});

test("a prompt that is not UTF-8 is run with what can be read, and reported", async () => {
  const running = startCommand(turnd.url, ["run", "--executor", "cli-b", "--quiet", "-"], { input: null });
  running.stdin.end(Buffer.from("caf\u00e9", "latin1"));
  const { exitCode, stdout, stderr } = await running;
  expect([exitCode, stdout]).toEqual([0, "caf\ufffd"]);
  expect(stderr).toBe("turnd: warning: the prompt is not UTF-8; what is not is replaced by U+FFFD");
});

test("the line that is drawn again is no wider than the terminal, whatever the tool is called", async () => {
  const item = {
    id: "wide",
    type: "command_execution",
    command: "知".repeat(60),
    aggregated_output: "",
    exit_code: null,
  };
  const started = { type: "item.started", item: { ...item, status: "in_progress" } };
  const prompt = `raw ${JSON.stringify(started)}\nsleep 1`;
  const { stdout } = await runOnTerminal(turnd.url, ["run", "--executor", "cli-b", prompt]);
  // oxlint-disable-next-line no-control-regex -- what ends each drawing
  const drawn = [...stdout.matchAll(/\r(\d+\.\d s {2}[^\r\n\u001b]*)\u001b\[K/g)].map(([, line = ""]) => line);
  expect(drawn.some((line) => line.includes("知"))).toBe(true);
  expect(Math.max(...drawn.map(widthOf))).toBeLessThan(80);
});

test("Ctrl-C cancels the turn and waits for its receipt", async () => {
  const running = startCommand(turnd.url, ["run", "--executor", "cli-b", "begun\nhang"]);
  await collect(running.stdout).has("begun");
  running.kill("SIGINT");
  const { exitCode, stdout, stderr } = await running;
  expect([exitCode, stdout]).toEqual([130, expect.stringMatching(/\ncancelled \(request\) in /)]);
  expect(stderr).toMatch(/turn .* is cancelled: \d+ process(es)? ended in [^]*fake-cli-b/);
  expect(await newestTurn()).toMatchObject({ status: "cancelled" });
});

test("a second Ctrl-C leaves at once, and says what may still run", async () => {
  const slow = await fakeDaemon({ TURND_CANCEL_GRACE_MS: "60000", TURND_SHUTDOWN_MS: "500" });
  const running = startCommand(slow.url, ["run", "--executor", "cli-b", "begun\nignore-signals\nready\nhang"]);
  await collect(running.stdout).has("ready");
  const err = collect(running.stderr);
  running.kill("SIGINT");
  await err.has("cancelling turn");
  running.kill("SIGINT");
  const { exitCode, stderr } = await running;
  expect([exitCode, stderr]).toEqual([
    130,
    expect.stringMatching(/warning: turn (\S+) may still run: turnd cancel \1/),
  ]);
  expect((await newestTurn(slow)).status).toBe("running");
});

test("Ctrl-C while the prompt is read, or while the turn waits, leaves no turn that runs", async () => {
  const slow = await fakeDaemon({ TURND_MAX_TURNS: "1" });
  const reading = startCommand(slow.url, ["run", "--executor", "cli-b", "--json", "-"], { input: null });
  // More than a pipe holds: once it is written, some of it has been read.
  await new Promise((resolve) => reading.stdin.write("x".repeat(300_000), resolve));
  reading.kill("SIGINT");
  expect(await reading).toMatchObject({ exitCode: 130 });
  expect((await slow.request("GET", "/v1/turns")).body.turns).toEqual([]);

  const first = await slow.admit({ executor: "cli-b", input: "hang" });
  const waiting = startCommand(slow.url, ["run", "--executor", "cli-b", "never"]);
  const { turn_id: id } = await waitFor("the second turn", async () => {
    const { turns } = (await slow.request("GET", "/v1/turns")).body;
    return turns.find((turn: { turn_id: string }) => turn.turn_id !== first.turn_id);
  });
  waiting.kill("SIGTERM");
  expect(await waiting).toMatchObject({ exitCode: 130, stdout: expect.stringContaining("cancelled (request)") });
  expect((await slow.request("GET", `/v1/turns/${id}`)).body.status).toBe("cancelled");
});

test("a turn that another client cancels ends the command with 7", async () => {
  const running = startCommand(turnd.url, ["run", "--executor", "cli-b", "begun\nhang"]);
  await collect(running.stdout).has("begun");
  await runCommand(turnd.url, ["cancel", (await newestTurn()).turn_id]);
  expect(await running).toMatchObject({ exitCode: 7 });
});

test("a reader that has seen enough ends the command alone: the turn goes on", async () => {
  const line = `"$0" "$1" run --executor cli-b "paced 40 0.05" | head -1; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await execa("bash", ["-c", line, process.execPath, inject("turnd")], {
    env: { TURND_URL: turnd.url },
  });
  expect(stdout).toMatch(/^turn .*\n141$/);
  expect(stderr).toMatch(/^turnd: warning: turn \S+ may still run: turnd cancel \S+$/);
  const ended = await waitFor("the turn's end", async () => {
    const turn = await newestTurn();
    return turn.status !== "running" && turn;
  });
  expect(ended.status).toBe("completed");
});

test("a turnd that is killed and started again is followed on, with every event once", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const running = startCommand(first.url, ["run", "--executor", "cli-b", "--json", "paced 40 0.05"]);
  await collect(running.stdout).has("paced 3");
  first.kill("SIGKILL");
  await first.exited;
  const second = await fakeDaemonIn(directory, { TURND_PORT: new URL(first.url).port });
  const { exitCode, stdout } = await running;
  const events = stdout.split("\n").map((line): { turn_id: string; seq: number } => JSON.parse(line));
  expect([exitCode, events]).toEqual([0, await second.events(events[0]?.turn_id ?? "")]);
});

test("a turnd that stays away ends the command with 6, and with the command that goes on", async () => {
  const gone = await fakeDaemon();
  const running = startCommand(gone.url, ["run", "--executor", "cli-b", "--lost-after", "1", "begun\nhang"]);
  await collect(running.stdout).has("begun");
  gone.kill("SIGKILL");
  const { exitCode, stderr } = await running;
  expect([exitCode, stderr]).toEqual([6, expect.stringMatching(/the turn may go on: turnd tail \S+ --after 3/)]);
});

test("output that is longer than a person reads is cut, and whole with --full", async () => {
  const record = (lines: number): string =>
    JSON.stringify({
      type: "item.completed",
      item: {
        id: "item_0",
        type: "command_execution",
        command: "/bin/bash -lc 'seq 50000'",
        aggregated_output: Array.from({ length: lines }, (_, index) => `line ${index}`).join("\n"),
        exit_code: 0,
        status: "completed",
      },
    });
  const args = ["run", "--executor", "cli-b"];
  const cut = await runCommand(turnd.url, [...args, `raw ${record(500)}`]);
  expect(cut.stdout).toMatch(/\n {2}line 39\n {2}… [\d.]+ KiB more \(--full\)\n/);
  expect(cut.stdout).not.toContain("line 40");
  const whole = await startCommand(turnd.url, [...args, "--full", "-"], {
    input: `raw ${record(50_000)}`,
  });
  expect(whole.stdout.match(/^ {2}line \d+$/gm)?.length).toBe(50_000);
});
