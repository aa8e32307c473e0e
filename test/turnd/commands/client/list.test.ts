import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startDaemon, type TestDaemon } from "../../../harness/daemon.ts";
import { fakeEnv } from "../../../harness/fake-env.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { collect, runCommand, startCommand } from "./commands.ts";

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

test("turns are listed, shown, followed from any event on, and cancelled", async () => {
  const { turn_id: id } = await turnd.run({
    executor: "cli-b",
    input: "one\ntwo\nthree",
    metadata: { colour: "blue" },
  });
  const list = await runCommand(turnd.url, ["turns", "--status", "completed", "--limit", "1"]);
  expect(list.stdout).toMatch(new RegExp(`^TURN .*\n${id}  completed  cli-b `));
  expect((await runCommand(turnd.url, ["turns", "-q", "--limit", "1"])).stdout).toBe(id);
  const shown = await runCommand(turnd.url, ["show", id]);
  expect(shown.stdout).toMatch(/\nmetadata colour\s+blue\n\nthree\n\ncompleted in /);
  expect((await runCommand(turnd.url, ["show", "-q", id])).stdout).toBe("three");
  expect(JSON.parse((await runCommand(turnd.url, ["show", "--json", id])).stdout)).toEqual({
    turn: (await turnd.request("GET", `/v1/turns/${id}`)).body,
    result: (await turnd.request("GET", `/v1/turns/${id}/result`)).body,
  });
  const tail = await runCommand(turnd.url, ["tail", id, "--after", "4", "--json"]);
  expect(tail.exitCode).toBe(0);
  expect(tail.stdout.split("\n").map((line) => JSON.parse(line))).toEqual((await turnd.events(id)).slice(4));
  expect((await runCommand(turnd.url, ["cancel", id])).stdout).toMatch(/had ended already: completed/);
});

test("leaving tail leaves the turn alone", async () => {
  const { turn_id: id } = await turnd.admit({ executor: "cli-b", input: "begun\nhang" });
  const tail = startCommand(turnd.url, ["tail", id]);
  await collect(tail.stdout).has("begun");
  tail.kill("SIGINT");
  expect(await tail).toMatchObject({ exitCode: 130 });
  expect((await turnd.request("GET", `/v1/turns/${id}`)).body.status).toBe("running");
  const cancelled = await runCommand(turnd.url, ["cancel", "--json", id]);
  expect(JSON.parse(cancelled.stdout)).toMatchObject({ turn_id: id, already_ended: false });
  expect(await runCommand(turnd.url, ["tail", id])).toMatchObject({ exitCode: 7 });
});

test("sessions are made, listed and deleted", async () => {
  const made = await runCommand(turnd.url, ["sessions", "create", "--executor", "cli-b", "--deny", "network", "edit"]);
  const id = made.stdout;
  expect((await turnd.request("GET", `/v1/sessions/${id}`)).body.permissions).toEqual({
    network: "deny",
    edit: "deny",
  });
  expect((await runCommand(turnd.url, ["sessions"])).stdout).toMatch(new RegExp(`^SESSION .*[^]*\n${id}  cli-b `));
  expect((await runCommand(turnd.url, ["sessions", "list", "-q"])).stdout.split("\n")).toContain(id);
  expect(await runCommand(turnd.url, ["sessions", "delete", id])).toMatchObject({ exitCode: 0 });
  expect(await runCommand(turnd.url, ["sessions", "delete", id])).toMatchObject({ exitCode: 5 });
});

test.each([
  [["show", "01a20404-29a5-7533-b0cd-a0460fb0ca2d"], 5, /^turnd: .*01a20404/],
  [["tail", "../x"], 2, /turn_id/],
  [["show", "."], 2, /^turnd: "\." is no turn id$/],
  [["show", "--diff", ".."], 2, /^turnd: "\.\." is no turn id$/],
  [["tail", "."], 2, /^turnd: "\." is no turn id$/],
  [["cancel", ""], 2, /^turnd: "" is no turn id$/],
  [["sessions", "delete", "."], 2, /^turnd: "\." is no session id$/],
  [["run"], 2, /prompt/],
  [["run", "--mode", "everything", "x"], 2, /execute, plan, review/],
  [["run", "--executor", "no-such-cli", "x"], 2, /must be one of/],
  [["run", "--exectuor", "cli-b", "x"], 2, /--executor/],
  [["turns", "--limit", "0"], 2, /whole number/],
  [["sessions", "create"], 2, /--executor/],
  [["sessions", "remove", "x"], 2, /^turnd: unknown command 'sessions remove' \(there is list, create, delete\)$/m],
  [["sessions", "lst"], 2, /^turnd: unknown command 'sessions lst' \(there is list\)$/m],
  [["sessions", "list", "x"], 2, /^turnd: sessions list takes no argument, got 'x'$/m],
])("`turnd %j` ends with %i", async (args, code, why) => {
  const { exitCode, stdout, stderr } = await runCommand(turnd.url, args);
  expect([exitCode, stdout]).toEqual([code, ""]);
  expect(stderr).toMatch(why);
});

test("lists go over as many pages as are asked for", async () => {
  for (let at = 0; at < 3; at += 1)
    await turnd.run({ executor: "cli-b", input: "hello", session_id: `session-page-${at}` });
  const count = async (...args: string[]): Promise<number> =>
    (await runCommand(turnd.url, [...args, "-q"])).stdout.trim().split("\n").length;
  expect(await count("turns", "--limit", "2")).toBe(2);
  expect(await count("turns", "--all")).toBe((await turnd.request("GET", "/v1/turns?limit=1000")).body.turns.length);
  expect(await count("sessions", "--limit", "2")).toBe(2);
  expect(await count("sessions", "--all")).toBe((await turnd.request("GET", "/v1/sessions")).body.sessions.length);
});

test("a running turn shows when its last event came and what it waits for: the model, a tool call, or a command", async () => {
  const show = async (input: string, isThere: (text: string) => boolean) => {
    const { turn_id: id } = await turnd.admit({ executor: "cli-b", input });
    onTestFinished(async () => void (await turnd.request("POST", `/v1/turns/${id}/cancel`)));
    let shown = "";
    await waitFor("the turn's activity", async () => {
      shown = (await runCommand(turnd.url, ["show", id])).stdout;
      return isThere(shown);
    });
    return { id, shown };
  };
  const model = await show("one\nhang", (text) => text.includes("(message)"));
  expect(model.shown).toMatch(/\nlast event +\d+\.\d s ago \(message\)\nwaits for +the model, for \d+\.\d s$/m);
  const call = await show("open-tool make all\nhang", (text) => text.includes("(tool.started)"));
  expect(call.shown).toMatch(/\nwaits for +make all, for \d+\.\d s$/m);
  const { activity } = JSON.parse((await runCommand(turnd.url, ["show", "--json", call.id])).stdout);
  expect(activity).toMatchObject({ last_event: { type: "tool.started" }, waits_for: "tool", name: "make all" });

  // As CLI A's, of which no event tells before it has ended. Law: keys travel aside.
  const sleeping = "shell exec setsid perl -e 'sleep 333' FAKE-KEY-FOR-TESTS";
  const command = await show(sleeping, (text) => text.includes("perl"));
  expect(command.shown).toMatch(/\nwaits for +perl -e sleep 333 .*, for \d+\.\d s$/m);
  expect(command.shown).not.toContain("FAKE-KEY");
  const { running_command: running } = (await turnd.request("GET", `/v1/turns/${command.id}`)).body;
  expect(running).toEqual({ command: expect.stringMatching(/^perl -e sleep 333 /), running_ms: expect.any(Number) });
  const listed = (await turnd.request("GET", "/v1/turns?limit=1")).body.turns[0];
  expect(listed.running_command.command).toBe(running.command);
  await turnd.request("POST", `/v1/turns/${command.id}/cancel`);
  expect((await turnd.request("GET", `/v1/turns/${command.id}`)).body.running_command).toBeUndefined();
});
