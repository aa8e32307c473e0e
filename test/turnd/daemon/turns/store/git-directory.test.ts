import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { gitDirectoryIn, makeGitDirectory } from "../../../../../src/turnd/daemon/turns/store/git-directory.ts";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

test("a whole one stays as it is: a full disk has no room for another", async () => {
  const directory = gitDirectoryIn(temporaryDirectory(onTestFinished));
  await makeGitDirectory(directory);
  const { ino } = statSync(join(directory, "HEAD"));
  await makeGitDirectory(directory);
  expect(statSync(join(directory, "HEAD")).ino).toBe(ino);
});

test.each([
  ["a file is not as it was", (directory: string) => writeFileSync(join(directory, "config"), "[core]\n")],
  ["something was added", (directory: string) => mkdirSync(join(directory, "hooks"))],
])("another is made where %s", async (_, damage) => {
  const directory = gitDirectoryIn(temporaryDirectory(onTestFinished));
  await makeGitDirectory(directory);
  const whole = readFileSync(join(directory, "config"), "utf8");
  damage(directory);
  await makeGitDirectory(directory);
  expect(readFileSync(join(directory, "config"), "utf8")).toBe(whole);
  expect(() => statSync(join(directory, "hooks"))).toThrow("ENOENT");
});

/** Only root can mount. */
const IS_ROOT = process.getuid?.() === 0;

test.runIf(IS_ROOT)("a daemon for which none can be made starts and says so", async () => {
  const root = temporaryDirectory(onTestFinished);
  const directory = gitDirectoryIn(join(root, "state"));
  mkdirSync(join(root, "state"), { mode: 0o711 });
  mkdirSync(directory);
  await execa("mount", ["-t", "tmpfs", "-o", "ro", "turnd-test", directory]);
  onTestFinished(async () => void (await execa("umount", ["--lazy", directory])));
  const turnd = await fakeDaemonIn(root);
  expect(turnd.log.join("\n")).toContain("what turns change is not recorded: ");
  expect(await turnd.run({ executor: "cli-b", input: "hello" })).toMatchObject({ status: "completed" });
});
