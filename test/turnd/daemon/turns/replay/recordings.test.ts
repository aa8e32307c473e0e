import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemon, fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../../harness/shared-daemon.ts";
import { fakeEnv } from "../../../../harness/fake-env.ts";
import { withoutTimeAndIds } from "../../../../harness/recordings.ts";
import { eventLines, expectSameAgain } from "../../../../harness/same-again.ts";
import { REPOSITORY, temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const KEY = "FAKE-KEY-FOR-TESTS";

const hasMessage = async (turnd: TestDaemon, turnId: string): Promise<boolean> =>
  (await turnd.events(turnId)).some(({ type }) => type === "message");

// Some start a daemon and a dozen processes; on a loaded machine each takes seconds.
describe("an exported turn gives its events again", { timeout: 300_000 }, () => {
  test("one that completed, with tools, both files, odd lines and the caller's text", async () => {
    const turnd = await sharedDaemon();
    const input = "tool ls\nstderr a warning\nraw not json\nraw \u001b[31mred\nopen-tool top\nhello";
    const { turn_id } = await turnd.run({ executor: "cli-b", input, model: "model-y" });
    expect(await expectSameAgain(turnd, turn_id)).toMatchObject({
      v: 1,
      turn: { executor: "cli-b", cli_name: "fake-cli-b", model: "model-y", ended_by: null },
      exit: { code: 0, signal: null },
      input,
      stderr: ["a warning\n"],
    });
  });

  test("one that was cancelled while it ran, and one that never ran", async () => {
    const turnd = await fakeDaemon({ TURND_MAX_TURNS: "1" });
    const running = await turnd.admit({ executor: "cli-b", input: "hello\nopen-tool top\nhang" });
    const waiting = await turnd.admit({ executor: "cli-b", input: "never" });
    await waitFor("the message", () => hasMessage(turnd, running.turn_id));
    for (const { turn_id } of [waiting, running]) await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
    expect(await expectSameAgain(turnd, running.turn_id)).toMatchObject({ turn: { ended_by: "cancel" } });
    expect(await expectSameAgain(turnd, waiting.turn_id)).toMatchObject({ turn: { ended_by: "cancel" }, stdout: [] });
  });

  test("one that was resumed after kill -9, and one whose keeper was lost", async () => {
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory);
    const taken = await first.admit({ executor: "cli-b", input: "hello\nstderr early\npaced 20 0.05" });
    const lost = await first.admit({ executor: "cli-b", input: "hello\nhang" });
    for (const { turn_id } of [taken, lost]) await waitFor("a message", () => hasMessage(first, turn_id));
    first.kill("SIGKILL");
    await first.exited;
    const turn = join(first.state, "sessions", lost.session_id, "turns", lost.turn_id);
    const started: { keeper: number; pid: number } = JSON.parse(readFileSync(join(turn, "started"), "utf8"));
    process.kill(started.keeper, "SIGKILL");
    process.kill(started.pid, "SIGKILL");
    const second = await fakeDaemonIn(directory);
    await expectSameAgain(second, taken.turn_id);
    expect(await expectSameAgain(second, lost.turn_id)).toMatchObject({ exit: null });
  });

  test("one whose session was lost, did not match, or had an id that is none, whether it went on or not", async () => {
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory);
    const cases = (["lost", "mismatched", "malformed"] as const).flatMap((spoilt) =>
      (["continue", "fail"] as const).map((policy) => ({ spoilt, policy, session: `${spoilt}-${policy}` })),
    );
    for (const { session } of cases) await first.run({ executor: "cli-b", session_id: session, input: "first" });
    await first.stop();
    for (const { spoilt, session } of cases) {
      const root = join(first.state, "sessions", session);
      const home = join(root, "home/fake-cli-b");
      if (spoilt === "lost") {
        for (const name of readdirSync(join(home, "sessions"))) rmSync(join(home, "sessions", name));
      } else if (spoilt === "mismatched") {
        writeFileSync(join(home, "sessions/answer-as.jsonl"), "01a1fd18-0000-7000-8000-000000000000");
      } else {
        const file: object = JSON.parse(readFileSync(join(root, "session.json"), "utf8"));
        writeFileSync(join(root, "session.json"), JSON.stringify({ ...file, native_session_id: "--last" }));
      }
    }
    const second = await fakeDaemonIn(directory);
    for (const { spoilt, policy, session } of cases) {
      const result = await second.run({ session_id: session, input: "second", resume_policy: policy });
      const events = await second.events(result.turn_id);
      const said = events.filter(({ type }) => type === "session.degraded");
      // A turn that is not let go on is never started with an id that is none.
      expect([session, said.length]).toEqual([session, spoilt === "malformed" && policy === "fail" ? 0 : 1]);
      await expectSameAgain(second, result.turn_id);
    }
  });

  test("one that turnd itself failed before any process", async () => {
    const turnd = await sharedDaemon();
    const { turn_id } = await turnd.run({ executor: "cli-a", input: "x" });
    expect(await expectSameAgain(turnd, turn_id)).toMatchObject({ turn: { halted: { code: expect.any(String) } } });
  });

  test("one that a watchdog ended, one that printed too much, and one that SIGTERM ended", async () => {
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory, { TURND_MAX_OUTPUT_BYTES: "100000" });
    const idle = await first.run({ executor: "cli-b", input: "hello\nhang", idle_timeout_ms: 1_500 });
    const much = await first.run({ executor: "cli-b", input: "burst 5000\nhang" });
    const stopped = await first.admit({ executor: "cli-b", input: "hello\nhang" });
    await waitFor("a message", () => hasMessage(first, stopped.turn_id));
    await first.stop();
    const second = await fakeDaemonIn(directory);
    for (const { turn_id } of [idle, much, stopped]) await expectSameAgain(second, turn_id);
  });
});

test("a key that a CLI prints is in no export, and lines keep their numbers", async () => {
  const turnd = await sharedDaemon();
  const input = `hello\n${KEY}\nraw plain ${KEY}\nstderr ${KEY}\nlast`;
  const { turn_id } = await turnd.run({ executor: "cli-b", input });
  const recording = await expectSameAgain(turnd, turn_id);
  expect(JSON.stringify(recording)).not.toContain(KEY);
  const numbers = (await turnd.events(turn_id)).flatMap(({ native }) => (native === undefined ? [] : [native.line]));
  expect(recording.stdout).toHaveLength(Math.max(...numbers) + 1);
});

describe("turnd record", () => {
  const record = (directory: string, turnId: string, to: string) =>
    execa(process.execPath, [inject("turnd"), "record", turnId, to], {
      env: { ...fakeEnv(directory), TURND_STATE_DIR: join(directory, "state"), TURND_RUN_AS: "self" },
      reject: false,
    });

  test("writes an ended turn as a fixture, whether the daemon runs or not, without keys", async () => {
    const directory = temporaryDirectory(onTestFinished);
    const turnd = await fakeDaemonIn(directory);
    const { turn_id } = await turnd.run({ executor: "cli-b", input: `tool ls\n${KEY}\nstderr ${KEY}\nhello` });
    const logged = withoutTimeAndIds(await eventLines(turnd, turn_id));
    const running = join(directory, "while-running");
    expect(await record(directory, turn_id, running)).toMatchObject({ exitCode: 0, stdout: running });
    await turnd.stop();
    const stopped = join(directory, "made/while-stopped");
    expect((await record(directory, turn_id, stopped)).exitCode).toBe(0);
    for (const made of [running, stopped]) {
      const names = ["events.jsonl", "exit.json", "prompt.txt", "stderr.log", "stdout.jsonl", "turn.json"];
      expect(readdirSync(made).toSorted()).toEqual(names);
      expect(
        execFileSync(
          "cat",
          names.map((name) => join(made, name)),
        ).includes(KEY),
      ).toBe(false);
      expect(JSON.parse(readFileSync(join(made, "exit.json"), "utf8"))).toEqual({ code: 0, signal: null });
      const { stdout } = await execa(process.execPath, [inject("turnd"), "replay", made]);
      expect(withoutTimeAndIds(stdout)).toEqual(logged);
    }
  });

  test("refuses a turn that runs, that is not there, and a directory with something in it", async () => {
    const directory = temporaryDirectory(onTestFinished);
    const turnd = await fakeDaemonIn(directory);
    const { turn_id } = await turnd.admit({ executor: "cli-b", input: "hello\nhang" });
    await waitFor("the message", () => hasMessage(turnd, turn_id));
    const to = join(directory, "made");
    expect(await record(directory, turn_id, to)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("the turn has not ended"),
    });
    await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
    for (const id of ["nope", "../../etc", ".."]) {
      expect(await record(directory, id, to)).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining(`has no turn ${id}`),
      });
    }
    mkdirSync(to);
    writeFileSync(join(to, "mine"), "");
    expect(await record(directory, turn_id, to)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`${to}: is not empty`),
    });
    expect(readdirSync(to)).toEqual(["mine"]);
    expect((await record(directory, turn_id, "")).exitCode).not.toBe(0);
  });
});

test("the commands of docs/replaying.md export, record and replay a turn", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await fakeDaemonIn(directory);
  const { turn_id } = await turnd.run({ executor: "cli-b", input: "hello" });
  const page = readFileSync(join(REPOSITORY, "docs/replaying.md"), "utf8");
  const blocks = [...page.matchAll(/```sh\n([^]*?)```/g)].map(([, block = ""]) => block);
  const script = ["-o turn.json", "gzip -9", "/v1/replays"]
    .map((part) => blocks.find((block) => block.includes(part)) ?? `echo no block with ${part}; exit 1\n`)
    .join("")
    .replaceAll("http://127.0.0.1:8091", turnd.url)
    .replaceAll("bin/turnd", `node ${inject("turnd")}`);
  const { exitCode, stdout, stderr } = await execa("bash", ["--norc", "-euo", "pipefail", "-c", script], {
    cwd: directory,
    env: {
      ...fakeEnv(directory),
      turn: turn_id,
      TURND_STATE_DIR: turnd.state,
      TURND_RUN_AS: "self",
      PATH: process.env["PATH"],
    },
    reject: false,
  });
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/"type":"turn\.ended".*"status":"completed"/);
  expect(stdout).toMatch(/^standard input {2}completed/m);
  const admitted: { turn_id: string } = JSON.parse(stdout.slice(stdout.lastIndexOf('{"turn_id"')));
  expect(withoutTimeAndIds(await eventLines(turnd, admitted.turn_id))).toEqual(
    withoutTimeAndIds(await eventLines(turnd, turn_id)),
  );
});
