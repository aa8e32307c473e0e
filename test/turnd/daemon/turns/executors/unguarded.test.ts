import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { fakeCliA } from "../../../../harness/fake-env.ts";
import { lookAtExecutor } from "../../../../harness/look-at-executor.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

/** A daemon whose CLI A answers `--version` as the script says, and is the fake one otherwise. */
async function daemonWith(script: string, env: Readonly<Record<string, string>> = {}): Promise<TestDaemon> {
  const directory = temporaryDirectory(onTestFinished);
  const given = fakeCliA(directory);
  const program = join(directory, "bin/versioned");
  mkdirSync(join(directory, "bin"), { recursive: true });
  writeFileSync(
    program,
    `#!/bin/sh\nif [ "$1" = --version ]; then\n${script}\nfi\nexec "${given["CLI_A_BIN"]}" "$@"\n`,
  );
  chmodSync(program, 0o755);
  return fakeDaemonIn(directory, { ...given, CLI_A_BIN: program, ...env });
}

const IGNORES = (version: string): string => `echo ${version}; exit 0`;
const FAILS = `[ -n "$BUN_INSPECT_PRELOAD" ] && exit 1; echo 1.14.34; exit 0`;

test.each([
  ["ignores the guard", IGNORES("1.19.0"), /1\.19\.0 would run code of the workspace: it ignores turnd's guard/],
  ["is an old one that does", IGNORES("1.3.2"), /1\.3\.2 would run code of the workspace: it ignores turnd's guard/],
  ["cannot run the guard", FAILS, /1\.14\.34 would run code of the workspace: turnd's guard fails in it/],
])("a binary that %s runs no turn, and says why", async (_, script, why) => {
  const turnd = await daemonWith(script);
  const { status, failure } = await turnd.run({ executor: "cli-a", input: "hello" });
  expect({ status, code: failure?.code }).toEqual({ status: "failed", code: "executor_unavailable" });
  expect(failure?.message).toMatch(why);
  expect(failure?.message).toContain("TURND_ALLOW_WORKSPACE_PLUGINS=1");
  const { available, unavailable } = await lookAtExecutor(turnd, "cli-a");
  expect({ available, code: unavailable.code }).toEqual({ available: false, code: "executor_unavailable" });
});

test("it runs turns where the operator accepts it", async () => {
  const turnd = await daemonWith(IGNORES("1.19.0"), { TURND_ALLOW_WORKSPACE_PLUGINS: "1" });
  expect(await turnd.run({ executor: "cli-a", input: "print 3" })).toMatchObject({ status: "completed" });
});
