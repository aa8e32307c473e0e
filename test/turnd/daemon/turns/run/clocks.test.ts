import { expect, onTestFinished, test } from "vitest";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemon, fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../../harness/shared-daemon.ts";
import { expectSameAgain } from "../../../../harness/same-again.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const COMPLETED = 'raw {"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}';
/** Silent for longer than the idle timeout of these tests, in a process of a session of its own, as a tool is. */
const TOOL = "shell exec setsid sleep 4";

async function warningsOf(turnd: TestDaemon, turnId: string): Promise<string[]> {
  return (await turnd.events(turnId)).flatMap(({ type, data }) => (type === "warning" ? [data.code] : []));
}

test("a tool that works in silence is not idle, whether the CLI printed its start or not", async () => {
  const turnd = await sharedDaemon();
  const [announced, unannounced] = await Promise.all([
    turnd.run({ executor: "cli-b", input: "open-tool make\nsleep 4", idle_timeout_ms: 1_500 }),
    turnd.run({ executor: "cli-b", input: `hello\n${TOOL}`, idle_timeout_ms: 1_500 }),
  ]);
  expect(announced.status).toBe("completed");
  expect(unannounced.status).toBe("completed");
});

test("a helper of the CLI's and what an earlier tool left behind are no tools, and the reason names what was seen last", async () => {
  const turnd = await sharedDaemon();
  const helper = "shell sleep 600 & setsid sleep 600 &";
  const result = await turnd.run({ executor: "cli-b", input: `${helper}\nhello\nhang`, idle_timeout_ms: 1_500 });
  expect(result.failure).toMatchObject({
    code: "idle_timeout",
    message: expect.stringContaining("line 3 of stdout (item.completed)"),
  });
  await expectSameAgain(turnd, result.turn_id);
});

test("a tool that never ends is ended by the turn's timeout", async () => {
  const turnd = await sharedDaemon();
  const input = "hello\nshell exec setsid sleep 600";
  const result = await turnd.run({ executor: "cli-b", input, idle_timeout_ms: 500, timeout_ms: 4_000 });
  expect(result.failure?.code).toBe("turn_timeout");
});

test("a tool that works while turnd is killed and started again is not idle", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const input = "hello\nshell exec setsid sleep 8\ndone";
  const { turn_id } = await first.admit({ executor: "cli-b", input, idle_timeout_ms: 1_500 });
  await waitFor("its first words", async () => (await first.events(turn_id)).some(({ type }) => type === "message"));
  first.kill("SIGKILL");
  await first.exited;
  const second = await fakeDaemonIn(directory);
  for await (const frame of second.follow(turn_id)) if (frame.event === "end") break;
  expect((await second.request("GET", `/v1/turns/${turn_id}/result`)).body).toMatchObject({
    status: "completed",
    output: "done",
  });
});

test("a CLI that does not exit after its last record is ended, and its turn is completed", async () => {
  const turnd = await sharedDaemon({ TURND_EXIT_TIMEOUT_MS: "500" });
  const result = await turnd.run({ executor: "cli-b", input: `the answer\n${COMPLETED}\nhang` });
  expect(result).toMatchObject({ status: "completed", output: "the answer" });
  expect(await warningsOf(turnd, result.turn_id)).toEqual(["cli_did_not_exit"]);
  await expectSameAgain(turnd, result.turn_id);
});

test("the proof outweighs another clock too, however the process then ends", async () => {
  const turnd = await fakeDaemon({ TURND_CANCEL_GRACE_MS: "200" });
  const input = `ignore-signals\nthe answer\n${COMPLETED}\nhang`;
  const result = await turnd.run({ executor: "cli-b", input, idle_timeout_ms: 1_000 });
  expect(result).toMatchObject({ status: "completed", exit: { signal: "SIGKILL" } });
  expect(await warningsOf(turnd, result.turn_id)).toEqual(["cli_did_not_exit"]);
});

test("a turn that goes on after its last record is not ended", async () => {
  const turnd = await sharedDaemon({ TURND_EXIT_TIMEOUT_MS: "500" });
  const again = 'raw {"type":"turn.started"}';
  const result = await turnd.run({ executor: "cli-b", input: `one\n${COMPLETED}\n${again}\nsleep 2\ntwo` });
  expect(result).toMatchObject({ status: "completed", output: "two" });
  expect(await warningsOf(turnd, result.turn_id)).toEqual([]);
});

test("a CLI that does not exit is ended by the daemon that is started after a kill, once", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory, { TURND_EXIT_TIMEOUT_MS: "60000" });
  const { turn_id } = await first.admit({ executor: "cli-b", input: `the answer\n${COMPLETED}\nhang` });
  await waitFor("its answer", async () => (await first.events(turn_id)).some(({ type }) => type === "message"));
  first.kill("SIGKILL");
  await first.exited;
  const second = await fakeDaemonIn(directory, { TURND_EXIT_TIMEOUT_MS: "500" });
  for await (const frame of second.follow(turn_id)) if (frame.event === "end") break;
  expect((await second.request("GET", `/v1/turns/${turn_id}/result`)).body.status).toBe("completed");
  expect(await warningsOf(second, turn_id)).toEqual(["cli_did_not_exit"]);
});
