import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand, runOnTerminal } from "./client/commands.ts";
import { REPOSITORY } from "../../harness/temporary.ts";

const FIXTURES = join(REPOSITORY, "fixtures/cli-b/0.139.0");
const DIFF = ["diff", join(FIXTURES, "rate-limited"), join(FIXTURES, "bad-key")];

test("colours of a diff are for a terminal that takes them, and for who asks for them", async () => {
  const onTerminal = await runOnTerminal("", DIFF);
  expect(onTerminal.stdout).toContain("\u001b[31m--- ");
  for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }, { FORCE_COLOR: "0" }]) {
    const plain = await runOnTerminal("", DIFF, env);
    expect([env, plain.stdout.includes("\u001b[")]).toEqual([env, false]);
  }
  const { exitCode, stdout } = await runCommand("", DIFF);
  expect([exitCode, stdout.includes("\u001b[")]).toEqual([1, false]);
  expect((await runCommand("", DIFF, { FORCE_COLOR: "1" })).stdout).toContain("\u001b[32m+++ ");
});

test("probe refuses a scenario that there is not, with the one that may be meant", async () => {
  expect(await runCommand("", ["probe", "--scenario", "edit", "--scenario", "resum"])).toMatchObject({
    exitCode: 2,
    stdout: "",
    stderr: expect.stringMatching(/^turnd: there is no scenario "resum", only text, .*\(Did you mean resume\?\)$/),
  });
});

test.each([
  ["replay", ["replay", "--executor", "codx", DIFF[1] ?? ""]],
  ["diff", [...DIFF, "--executor", "codx"]],
  ["probe", ["probe", "codx"]],
])("%s refuses an executor that there is not, with the one that may be meant", async (_, args) => {
  expect(await runCommand("", args)).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: 'turnd: there is no executor "codx", only cli-a, cli-b (Did you mean codex?)',
  });
});
