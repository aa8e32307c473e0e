import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readProcess } from "../../../../../src/turnd/daemon/process/keeper/process-table.ts";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { fakeCliA } from "../../../../harness/fake-env.ts";
import { processesNaming } from "../../../../harness/processes.ts";
import { expectSameAgain } from "../../../../harness/same-again.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** A daemon whose CLI A stores every answer whole and prints as much of it as the prompt says. */
async function forgetfulCli(directory = temporaryDirectory(onTestFinished)): Promise<TestDaemon> {
  return fakeDaemonIn(directory, fakeCliA(directory));
}

const dataOf = (turnd: TestDaemon, sessionId: string): string =>
  join(turnd.state, "sessions", sessionId, "home/data/fake");

const runsOf = (turnd: TestDaemon, sessionId: string): number =>
  readFileSync(join(dataOf(turnd, sessionId), "runs"), "utf8")
    .trimEnd()
    .split("\n").length;

async function warningsOf(turnd: TestDaemon, turnId: string): Promise<unknown[]> {
  const events = await turnd.events(turnId);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  return events.flatMap((event) => (event.type === "warning" ? [event.data.code] : []));
}

test.each([0, 1, 2])("an answer of which %i records were printed is logged whole, and replays so", async (count) => {
  const turnd = await forgetfulCli();
  const first = await turnd.run({ executor: "cli-a", input: "print 1" });
  expect(first).toMatchObject({ status: "completed", output: "answer 0" });
  const { session_id } = first;
  const result = await turnd.run({ session_id, input: `print ${count}` });
  expect(result).toMatchObject({ status: "completed", output: "answer 1", resumed: true, degraded: false });
  expect(runsOf(turnd, session_id)).toBe(2);
  expect(await warningsOf(turnd, result.turn_id)).toEqual(["output_recovered"]);
  await expectSameAgain(turnd, result.turn_id);
});

test("an answer that was printed whole is not looked for", async () => {
  const turnd = await forgetfulCli();
  const result = await turnd.run({ executor: "cli-a", input: "print 3, and be slow" });
  expect(result).toMatchObject({ status: "completed", output: "answer 0" });
  expect(await warningsOf(turnd, result.turn_id)).toEqual([]);
});

test.each(["broken", "torn"])("where the store is of no help (%s), the turn ends as incomplete", async (word) => {
  const turnd = await forgetfulCli();
  const result = await turnd.run({ executor: "cli-a", input: `print 1 ${word}` });
  expect(result).toMatchObject({ status: "failed", failure: { code: "output_incomplete" } });
  expect(await warningsOf(turnd, result.turn_id)).toEqual([]);
  await expectSameAgain(turnd, result.turn_id);
});

/** Until the CLI itself runs: what starts it bears another name, and is seen before it has become it. */
async function waitForExport(turnd: TestDaemon, sessionId: string, turnId: string): Promise<void> {
  const directory = join(turnd.state, "sessions", sessionId, "turns", turnId, "recovery");
  await waitFor("the store to be asked", () => {
    const started = join(directory, "started");
    if (!existsSync(started) || !readFileSync(started, "utf8").endsWith("\n")) return false;
    return processesNaming(turnId, "anywhere").some((pid) => readProcess(pid)?.command === "fake-cli-a");
  });
}

test("a turn is cancelled while its store is asked, and nothing is left", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await forgetfulCli(directory);
  const { turn_id, session_id } = await turnd.admit({ executor: "cli-a", input: "print 1 slow" });
  await waitForExport(turnd, session_id, turn_id);
  const { body } = await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
  expect(body).toMatchObject({ status: "cancelled", ended: [{ command: "fake-cli-a", signal: "SIGKILL" }] });
  expect(processesNaming(turn_id, "anywhere")).toEqual([]);
});

test("kill -9 while the store is asked: the next daemon asks again, and nothing is logged twice", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await forgetfulCli(directory);
  const { turn_id, session_id } = await first.admit({ executor: "cli-a", input: "print 1 slow" });
  await waitForExport(first, session_id, turn_id);
  first.kill("SIGKILL");
  await first.exited;
  rmSync(join(dataOf(first, session_id), "slow"));
  const second = await forgetfulCli(directory);
  for await (const frame of second.follow(turn_id)) if (frame.event === "end") break;
  const { body } = await second.request("GET", `/v1/turns/${turn_id}/result`);
  expect(body).toMatchObject({ status: "completed", output: "answer 0", exit: { code: 0, signal: null } });
  expect(await warningsOf(second, turn_id)).toEqual(["output_recovered"]);
  expect(runsOf(second, session_id)).toBe(1);
  expect(processesNaming(turn_id, "anywhere")).toEqual([]);
});
