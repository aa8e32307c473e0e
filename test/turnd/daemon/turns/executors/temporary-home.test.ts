import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { fakeEnv } from "../../../../harness/fake-env.ts";
import { temporaryDirectory, userDirectory, userFile } from "../../../../harness/temporary.ts";

/** Homes that turnd asked a CLI in, and directories below the state that are left of them. */
const leftIn = (directory: string): string[] =>
  readdirSync(join(directory, "state")).filter((name) => /^(?:probe-|scratch)/.test(name));

/** A CLI that writes down where it is asked, and leaves what is hard to remove. */
function putNosyCli(directory: string): { env: Record<string, string>; homes: () => string[] } {
  const env = fakeEnv(directory);
  const program = join(directory, "bin/fake-cli-b");
  const asked = join(userDirectory(join(directory, "notes")), "asked");
  renameSync(program, `${program}.real`);
  writeFileSync(
    program,
    `#!/bin/sh
case "$1" in
  --version | sandbox)
    printf '%s %s\\n' "$HOME" "$(ls -A "$HOME" | wc -l)" >>${asked}
    mkdir "$HOME/closed" && : >"$HOME/closed/file" && chmod 0 "$HOME/closed" && ln -s / "$HOME/root" ;;
esac
exec ${program}.real "$@"
`,
  );
  chmodSync(program, 0o755);
  return { env, homes: () => readFileSync(asked, "utf8").trim().split("\n") };
}

test("a CLI is asked in a new and empty home each time, of which nothing stays", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const { env, homes } = putNosyCli(directory);
  const turnd = await fakeDaemonIn(directory, { ...env, CLI_B_SANDBOX_MODE: "workspace-write" });
  expect(await turnd.run({ executor: "cli-b", input: "hello" })).toMatchObject({ status: "completed" });
  const asked = homes();
  expect(asked.length).toBeGreaterThanOrEqual(2);
  expect(new Set(asked).size).toBe(asked.length);
  for (const line of asked) expect(line).toMatch(/\/state\/probe-[^/]+\/home 0$/);
  expect(leftIn(directory)).toEqual([]);
});

test("what a tool has left where an earlier turnd asked its questions changes no answer, and goes", async () => {
  const directory = temporaryDirectory(onTestFinished);
  mkdirSync(join(directory, "state"));
  chmodSync(join(directory, "state"), 0o711);
  const scratch = userDirectory(join(directory, "state/scratch"));
  const config = join(userDirectory(join(scratch, ".codex")), "config.toml");
  writeFileSync(config, "not toml");
  userFile(config);
  mkdirSync(join(directory, "state/probe-abcdef"), { mode: 0o711 });
  chmodSync(userDirectory(join(directory, "state/probe-abcdef/home")), 0);
  chmodSync(scratch, 0);
  const turnd = await fakeDaemonIn(directory, { CLI_B_SANDBOX_MODE: "workspace-write" });
  expect(leftIn(directory)).toEqual([]);
  expect(await turnd.run({ executor: "cli-b", mode: "plan", input: "hello" })).toMatchObject({ status: "completed" });
});
