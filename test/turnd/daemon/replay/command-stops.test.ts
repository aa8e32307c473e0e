import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

const MAIN = join(REPOSITORY, "src/turnd/main.ts");
const STDOUT = join(REPOSITORY, "fixtures/cli-b/0.139.0/rate-limited/stdout.jsonl");

/** `turnd` with arguments, its temporary files in a directory of its own. */
function turnd(args: readonly string[]) {
  const directory = temporaryDirectory(onTestFinished);
  const running = execa(process.execPath, [MAIN, ...args], {
    reject: false,
    stdin: "pipe",
    env: { TMPDIR: directory },
  });
  return { running, left: () => readdirSync(directory) };
}

test.each([["replay"], ["diff"]])(
  "%s of a standard input that never ends is stopped by Ctrl-C, and leaves nothing",
  async (command) => {
    const { running, left } = turnd(command === "diff" ? ["diff", "-", STDOUT] : ["replay", "-"]);
    running.stdin.write('{"type":"thread.started","thread_id":"t"}\n'.repeat(40));
    await waitFor("its copy", () => left().some((name) => name.startsWith("turnd-replay-")));
    running.kill("SIGINT");
    const { exitCode, stderr } = await running;
    expect([exitCode, stderr]).toEqual([command === "diff" ? 2 : 1, "turnd: stopped; nothing was left behind"]);
    expect(left()).toEqual([]);
  },
);

test("a pipe that is named and written later is read to its end", async () => {
  const pipe = join(temporaryDirectory(onTestFinished), "pipe.jsonl");
  execFileSync("mkfifo", [pipe]);
  const { running, left } = turnd(["replay", "--summary", pipe]);
  const writer = execa("cp", [STDOUT, pipe]);
  const { exitCode, stdout } = await running;
  await writer;
  expect([exitCode, stdout.split("\n")[0]]).toEqual([0, expect.stringContaining("failed rate_limited")]);
  expect(left()).toEqual([]);
});

test("a named pipe that has no writer is left at once by Ctrl-C", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const pipe = join(directory, "pipe.jsonl");
  execFileSync("mkfifo", [pipe]);
  const { running, left } = turnd(["replay", "--summary", pipe]);
  const isOpen = () =>
    readdirSync(`/proc/${running.pid}/fd`).some((fd) => {
      try {
        return readlinkSync(`/proc/${running.pid}/fd/${fd}`) === pipe;
      } catch {
        // Closed meanwhile.
        return false;
      }
    });
  await waitFor("its open pipe", isOpen);
  running.kill("SIGINT");
  const { exitCode, stderr } = await running;
  expect([exitCode, stderr, left()]).toEqual([1, "turnd: stopped; nothing was left behind", []]);
});

test("an output that is full is a fault that the message names", async () => {
  for (const args of [
    ["replay", STDOUT],
    ["replay", "--explain", STDOUT],
    ["diff", STDOUT, STDOUT],
  ]) {
    const script = ["-c", 'exec "$@" >/dev/full', "sh", process.execPath, MAIN, ...args];
    const { exitCode, stderr } = await execa("sh", script, { reject: false });
    expect([exitCode, stderr]).toEqual([args[0] === "diff" ? 2 : 1, expect.stringContaining("turnd: ENOSPC")]);
  }
});

test("a mailed file becomes an explained failure in one command", async () => {
  const mailed = join(temporaryDirectory(onTestFinished), "mailed");
  mkdirSync(mailed);
  copyFileSync(STDOUT, join(mailed, "output.txt"));
  const { exitCode, stdout } = await execa(process.execPath, [MAIN, "replay", "--explain", join(mailed, "output.txt")]);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(
    /\n {2}failed rate_limited\n {2}retryable yes, .*\n.*\n {2}decided by\n {4}stdout\.jsonl:\d+ /,
  );
});

test("--exit and --executor that mean nothing are refused", async () => {
  for (const args of [
    ["--exit", "256"],
    ["--exit", "SIGNONE"],
    ["--executor", "../x"],
  ]) {
    const { exitCode } = await execa(process.execPath, [MAIN, "replay", ...args, STDOUT], { reject: false });
    expect(exitCode).toBe(2);
  }
});
