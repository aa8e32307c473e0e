import { expect, onTestFinished, test } from "vitest";
import { runTool, type ToolOptions, type ToolResult } from "../../../../src/turnd/daemon/process/run-tool.ts";
import { processesNaming } from "../../../harness/processes.ts";
import { CLI_USER } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

let marks = 0;

/** A number of seconds that only one test sleeps, so that its processes can be distinguished from all others. */
function newMark(): string {
  const mark = String(4_000_000 + (process.pid % 10_000) * 100 + marks++);
  onTestFinished(() => processesNaming(mark).forEach((pid) => process.kill(pid, "SIGKILL")));
  return mark;
}

const run = (script: string, options: Partial<ToolOptions> = {}): Promise<ToolResult> =>
  runTool(["/bin/sh", "-c", script], { runAs: CLI_USER, timeoutMs: 60_000, ...options });

test.each([
  ["waits for a child", (mark: string) => `sleep ${mark}; true`],
  ["has a child in a session of its own", (mark: string) => `setsid sleep ${mark} & sleep ${mark}`],
])("a command that %s is ended with all of it when the signal aborts", async (_, script) => {
  const mark = newMark();
  const stopping = new AbortController();
  const running = run(script(mark), { signal: stopping.signal });
  await waitFor("the child", () => processesNaming(mark).some((pid) => pid !== 0));
  stopping.abort(new Error("enough"));
  await expect(running).rejects.toThrow("enough");
  await waitFor("the end of all of it", () => processesNaming(mark).length === 0);
});

test("a command that outlasts its time is ended with what it waits for", async () => {
  const mark = newMark();
  expect(await run(`sleep ${mark}; true`, { timeoutMs: 200 })).toMatchObject({ code: null });
  await waitFor("the end of all of it", () => processesNaming(mark).length === 0);
});

test("what a command left behind is not waited for, though it holds the command's output open", async () => {
  const mark = newMark();
  expect(await run(`sleep ${mark} & echo done`)).toMatchObject({ code: 0, stdout: "done" });
  await waitFor("the end of all of it", () => processesNaming(mark).length === 0);
  const escaped = newMark();
  expect(await run(`setsid sleep ${escaped} & echo done`)).toMatchObject({ code: 0, stdout: "done" });
});

test("nothing is started for a signal that has aborted", async () => {
  const mark = newMark();
  await expect(run(`sleep ${mark}`, { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  expect(processesNaming(mark)).toEqual([]);
});
