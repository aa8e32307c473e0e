import { spawn } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { asUser } from "../../../../src/turnd/daemon/process/run-as.ts";
import { findClosedDirectory } from "../../../../src/service/sandboxes/embedded/enterable.ts";
import { runUserTask } from "../../../../src/service/sandboxes/embedded/user-task.ts";
import { CLI_USER, runnableProgram, temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

function makeWay(): { outer: string; middle: string; inner: string } {
  const outer = temporaryDirectory(onTestFinished);
  const middle = join(outer, "middle");
  const inner = join(middle, "inner");
  mkdirSync(inner, { recursive: true });
  for (const path of [outer, middle, inner]) chmodSync(path, 0o711);
  return { outer, middle, inner };
}

test.runIf(!CLI_USER.isSelf)(
  "the outermost directory that a user cannot enter is named, and none beside it",
  async () => {
    const { middle, inner } = makeWay();
    const missing = join(inner, "not/there");
    expect(await findClosedDirectory(missing, CLI_USER)).toBe(undefined);
    chmodSync(inner, 0o700);
    expect(await findClosedDirectory(missing, CLI_USER)).toBe(inner);
    chmodSync(middle, 0o700);
    expect(await findClosedDirectory(missing, CLI_USER)).toBe(middle);
  },
);

test.runIf(!CLI_USER.isSelf)("no tool can trace what looks whether a directory can be entered", async () => {
  const { inner } = makeWay();
  const tracer = [
    "/usr/bin/perl",
    runnableProgram("test/programs/trace-all", onTestFinished),
    String(process.pid),
    "60",
  ];
  const [file = "", ...args] = asUser(CLI_USER, tracer);
  const tool = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void tool.kill("SIGKILL"));
  let seen = "";
  tool.stdout.on("data", (data: Buffer) => (seen += data.toString()));
  await waitFor("the tool", () => seen.startsWith("ready\n"));
  for (let round = 0; round < 20; round += 1) await findClosedDirectory(inner, CLI_USER);
  // What it can trace it does trace.
  const control = new AbortController();
  const sleeping = runUserTask(["run", "/bin/sleep", "3600"], CLI_USER, { signal: control.signal });
  await waitFor("a program", () => seen.includes("trace /bin/sleep 3600"));
  control.abort();
  await expect(sleeping).rejects.toThrow();
  tool.kill("SIGKILL");
  expect(seen.split("\n").filter((line) => line !== "" && line !== "ready" && !line.includes("/bin/sleep"))).toEqual(
    [],
  );
});
