import { chmodSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Helper } from "../../../../../src/turnd/daemon/process/starter/starter.ts";
import { createKnownWorkspaces } from "../../../../../src/turnd/daemon/turns/executors/known-workspaces.ts";
import { checkWorkspace } from "../../../../../src/turnd/daemon/turns/executors/workspace.ts";
import { fakeDaemon } from "../../../../harness/fake-daemon.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../../../../harness/temporary.ts";

/** Checks of one directory that count how often the system is asked. */
function checksOf(directory: string) {
  let [asked, now, code] = [0, 0, 0];
  const starter: Helper = {
    async ask() {
      asked += 1;
      return { code, stdout: "", stderr: "" };
    },
  };
  const known = createKnownWorkspaces(() => now);
  return {
    check: (path: string) => checkWorkspace(path, { roots: [directory], runAs: CLI_USER, starter, known }),
    asked: () => asked,
    pass: (ms: number) => (now += ms),
    answer: (next: number) => (code = next),
  };
}

test("what was usable is not asked about again, for some seconds and as long as it looks the same", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const path = join(directory, "a/b");
  mkdirSync(path, { recursive: true });
  const { check, asked, pass } = checksOf(directory);
  for (const times of [1, 1, 1]) {
    expect(await check(path)).toBe(path);
    // What a CLI makes there does not matter.
    mkdirSync(join(path, `made-${asked()}`), { recursive: true });
    expect(asked()).toBe(times);
  }
  chmodSync(join(directory, "a"), 0o700);
  await check(path);
  expect(asked()).toBe(2);
  pass(10_000);
  await check(path);
  expect(asked()).toBe(3);
  rmSync(path, { recursive: true });
  await expect(check(path)).rejects.toMatchObject({ code: "workspace_unusable" });
  mkdirSync(join(directory, "other"));
  symlinkSync(join(directory, "other"), path);
  expect(await check(path)).toBe(join(directory, "other"));
  expect(asked()).toBe(4);
});

test("what was not usable is asked about each time", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const { check, asked, answer } = checksOf(directory);
  answer(1);
  for (const times of [1, 2]) {
    await expect(check(directory)).rejects.toMatchObject({ code: "workspace_unusable" });
    expect(asked()).toBe(times);
  }
  answer(0);
  expect(await check(directory)).toBe(directory);
});

test.skipIf(CLI_USER.isSelf)("a workspace that is closed after a turn refuses the next one", async () => {
  const turnd = await fakeDaemon({ TURND_WORKSPACE_ROOTS: "/" });
  const workspace = userDirectory(join(temporaryDirectory(onTestFinished), "workspace"));
  expect(await turnd.run({ executor: "cli-b", input: "hello", workspace })).toMatchObject({ status: "completed" });
  chmodSync(workspace, 0o500);
  const answer = await turnd.request("POST", "/v1/turns", { executor: "cli-b", input: "hello", workspace });
  expect(answer.body.detail.code).toBe("workspace_unusable");
});
