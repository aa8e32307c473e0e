import { execa } from "execa";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { CODE_GUARD, guardEnv } from "../../src/turnd/daemon/executors/cli-a/config/own-code.ts";
import { asUser } from "../../src/turnd/daemon/process/run-as.ts";
import { CLIS_A } from "../harness/real-daemon.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../harness/temporary.ts";
import { join } from "node:path";

/** Runs a real CLI as its user, in a home of its own. */
async function start(version: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const home = userDirectory(join(temporaryDirectory(onTestFinished), "home"));
  const [file = "", ...command] = asUser(CLI_USER, [inject("clis").binaries[version] ?? version, ...args]);
  const places = { HOME: home, TMPDIR: home, PATH: "/usr/bin:/bin" };
  const switches = { OPENCODE_DISABLE_MODELS_FETCH: "1" };
  return execa(file, command, {
    cwd: home,
    env: { ...places, ...switches, ...env },
    extendEnv: false,
    reject: false,
    input: "hello",
  });
}

describe.each(CLIS_A)("$version", ({ version }) => {
  test("shows that the guard works in it", async () => {
    const { stdout, stderr } = await start(version, ["--version"], CODE_GUARD.env);
    expect(stdout).toContain(version);
    expect(CODE_GUARD.isProven(stderr)).toBe(true);
  });

  test("ends before it does anything where its configuration cannot be read", async () => {
    const env = guardEnv({ config: {}, configFiles: ["/nowhere/config.json"], stores: [] });
    const { exitCode, stdout, stderr } = await start(version, ["run", "--format=json"], env);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain("turnd: the configuration cannot be read: ENOENT");
  });
});
