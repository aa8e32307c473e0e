import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { toRunAs } from "../../../src/turnd/daemon/process/run-as.ts";
import { readSettings, SettingsError } from "../../../src/turnd/daemon/settings.ts";
import { checkDirectories } from "../../../src/turnd/daemon/serve/start-directories.ts";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";

const ROOT = { uid: 0, gid: 0 };

function checkDirectoriesOf(env: Record<string, string>): Promise<void> {
  const { values, runAs } = readSettings(env, ROOT);
  return checkDirectories(values, toRunAs(runAs, join(REPOSITORY, "sandbox")));
}

function stage() {
  const directory = temporaryDirectory(onTestFinished);
  const file = join(directory, "file");
  writeFileSync(file, "");
  const good = {
    TURND_STATE_DIR: join(directory, "state/below"),
    TURND_HOME: join(directory, "home"),
    TURND_WORKSPACE: directory,
  };
  return { file, good, check: checkDirectoriesOf };
}

test("the state directory is made, and directories that are not there yet pass", async () => {
  const { good, check } = stage();
  await check(good);
  expect(existsSync(good.TURND_STATE_DIR)).toBe(true);
});

test.each(["TURND_STATE_DIR", "TURND_HOME", "TURND_WORKSPACE"])(
  "%s that can be no directory is named",
  async (name) => {
    const { file, good, check } = stage();
    for (const path of ["/dev/null/x", file]) {
      const checking = check({ ...good, [name]: path });
      await expect(checking).rejects.toThrow(SettingsError);
      await expect(checking).rejects.toThrow(`${name} is "${path}": `);
    }
  },
);

test("a state directory that the CLIs' user may not enter is named with the directory that is closed", async () => {
  const { file, good, check } = stage();
  const closed = join(dirname(file), "closed");
  mkdirSync(closed, { mode: 0o700 });
  const state = join(closed, "state");
  const other = `${(process.getuid?.() ?? 0) + 12_345}:12345`;
  const checking = check({ ...good, TURND_STATE_DIR: state, TURND_RUN_AS: other });
  await expect(checking).rejects.toThrow(
    /^TURND_STATE_DIR is ".*\/closed\/state": uid \d+, .* may not enter .*\/closed \(mode 700\)$/,
  );
  await check({ ...good, TURND_STATE_DIR: state, TURND_RUN_AS: "self" });
  chmodSync(closed, 0o711);
  await check({ ...good, TURND_STATE_DIR: state, TURND_RUN_AS: other });
});

test("all that are wrong are named at once", async () => {
  const { file, good, check } = stage();
  await expect(check({ ...good, TURND_HOME: file, TURND_WORKSPACE: file })).rejects.toThrow(
    /TURND_HOME[^]*TURND_WORKSPACE/,
  );
});
