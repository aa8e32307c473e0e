import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

test("a mode that needs the CLI's sandbox where none can work ends before the CLI starts, with the remedy", async () => {
  const directory = temporaryDirectory(onTestFinished);
  mkdirSync(join(directory, "bin"));
  writeFileSync(join(directory, "bin/fake-cli-b.no-sandbox"), "");
  const turnd = await fakeDaemonIn(directory, { CLI_B_SANDBOX_MODE: "workspace-write" });
  const result = await turnd.run({ executor: "cli-b", input: "hello" });
  expect(result).toMatchObject({ status: "failed", failure: { code: "sandbox_unavailable", user_action: "operator" } });
  expect(result.failure?.message).toMatch(
    /Creating new namespace failed.*seccomp=sandbox\/seccomp\.json.*CLI_B_SANDBOX_MODE/s,
  );
  expect((await turnd.events(result.turn_id)).map(({ type }) => type)).toEqual(["turn.ended"]);
});

test("a sandbox that could not work is tried again", async () => {
  const directory = temporaryDirectory(onTestFinished);
  mkdirSync(join(directory, "bin"));
  const obstacle = join(directory, "bin/fake-cli-b.no-sandbox");
  writeFileSync(obstacle, "");
  const turnd = await fakeDaemonIn(directory, { CLI_B_SANDBOX_MODE: "workspace-write" });
  const plan = async () => turnd.run({ executor: "cli-b", mode: "plan", input: "hello" });
  expect(await plan()).toMatchObject({ failure: { code: "sandbox_unavailable" } });
  rmSync(obstacle);
  await waitFor("the sandbox", async () => (await plan()).status === "completed");
});

test("a plan where no sandbox can work names the profile, and no variable that would not help", async () => {
  const directory = temporaryDirectory(onTestFinished);
  mkdirSync(join(directory, "bin"));
  writeFileSync(join(directory, "bin/fake-cli-b.no-sandbox"), "");
  const turnd = await fakeDaemonIn(directory, { CLI_B_SANDBOX_MODE: "danger-full-access" });
  const { failure } = await turnd.run({ executor: "cli-b", mode: "plan", input: "hello" });
  expect(failure).toMatchObject({ code: "sandbox_unavailable" });
  expect(failure?.message).toMatch(/seccomp=sandbox\/seccomp\.json.*seccomp-kubernetes\.json/);
  expect(failure?.message).not.toContain("CLI_B_SANDBOX_MODE");
});
