import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { queryObjects } from "node:v8";
import { expect, onTestFinished, test } from "vitest";
import { runTool } from "../../../../src/turnd/daemon/process/run-tool.ts";
import { startTimeLimit } from "../../../../src/turnd/daemon/process/time-limit.ts";
import { removeDirectory } from "../../../../src/turnd/daemon/process/user-files/remove-directory.ts";
import { CLI_USER, temporaryDirectory } from "../../../harness/temporary.ts";

test("a limit aborts with its signal, with an aborted one at once, and when its time is over", async () => {
  const stopping = new AbortController();
  const limit = startTimeLimit(60_000, stopping.signal);
  stopping.abort(new Error("stopped"));
  expect(limit.signal.reason).toEqual(new Error("stopped"));
  limit.release();
  expect(startTimeLimit(60_000, stopping.signal).signal.aborted).toBe(true);

  const short = startTimeLimit(1);
  await new Promise((resolve) => short.signal.addEventListener("abort", resolve));
  expect(short.signal.reason).toMatchObject({ name: "TimeoutError" });
});

test("a limit that was released does not abort any more", () => {
  const stopping = new AbortController();
  const limit = startTimeLimit(60_000, stopping.signal);
  limit.release();
  stopping.abort();
  expect(limit.signal.aborted).toBe(false);
});

test("what has ended leaves no signal behind, however long its limit is", { timeout: 60_000 }, async () => {
  const directory = temporaryDirectory(onTestFinished);
  // Lives as long as turnd.
  const { signal } = new AbortController();
  const work = async (): Promise<void> => {
    const path = join(directory, "session");
    mkdirSync(path);
    await removeDirectory(path, { runAs: CLI_USER, limitMs: 60_000, signal });
    await runTool(["/bin/true"], { runAs: CLI_USER, timeoutMs: 60_000, signal });
  };
  await work();
  const before = queryObjects(AbortSignal, { format: "count" });
  for (let at = 0; at < 20; at += 1) await work();
  // Some of the last one may be in use still.
  expect(queryObjects(AbortSignal, { format: "count" }) - before).toBeLessThan(10);
});
