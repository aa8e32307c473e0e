import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { execa, execaSync } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";

const HAS_MOUNTS =
  process.getuid?.() === 0 && execaSync("unshare", ["--mount", "true"], { reject: false }).exitCode === 0;

/** On it nothing can be made; `there` and `state` are there, and `state` can be written. */
const ENTER = `set -e
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir "$1/there" "$1/state"
mount -t tmpfs -o mode=755 tmpfs "$1/state"
mount -o remount,ro "$1"
shift
exec "$@"`;

/** Runs a program of `scripts/` where a directory is on a read-only disk. */
async function run(program: string, args: readonly string[], envOn: (disk: string) => Record<string, string>) {
  const disk = join(temporaryDirectory(onTestFinished), "disk");
  mkdirSync(disk);
  const command = [process.execPath, join(REPOSITORY, "scripts", program), ...args];
  const mounted = ["--mount", "--propagation", "private", "bash", "-c", ENTER, "bash", disk, ...command];
  const { all, exitCode } = await execa("unshare", mounted, {
    env: { PATH: process.env["PATH"], HOME: "/root", TURND_RUN_AS: "1000:1000", ...envOn(disk) },
    extendEnv: false,
    reject: false,
    all: true,
    stdin: "ignore",
  });
  return { lines: all.split("\n"), exitCode, disk };
}

test.skipIf(!HAS_MOUNTS).each([
  [
    "npm start, for its state",
    "start.mjs",
    ["serve"],
    "new/state",
    /^turnd: TURND_STATE_DIR is ".*\/new\/state": cannot be used: read-only file system \(EROFS\)$/,
  ],
  [
    "npm start, for what is beside the state",
    "start.mjs",
    ["serve"],
    "state",
    /^turnd: TURND_HOME is ".*\/state-users\/home": cannot be used: read-only file system \(EROFS\)$/,
  ],
])("%s says in one sentence which variable names another place", async (_, program, args, place, sentence) => {
  const { lines, exitCode } = await run(program, args, (disk) => ({ TURND_STATE_DIR: join(disk, place) }));
  expect(lines).toEqual([expect.stringMatching(sentence)]);
  expect(exitCode).toBe(1);
});

test.skipIf(!HAS_MOUNTS)("turnd doctor finds a state that no start could make", async () => {
  const { lines, exitCode } = await run("start.mjs", ["doctor"], (disk) => ({ TURND_STATE_DIR: join(disk, "new") }));
  const [line] = lines.filter((each) => /^\w+ +state:/.test(each));
  expect(line).toMatch(
    /^fault state: .*\/new cannot be made: read-only file system \(EROFS\); name another in TURND_STATE_DIR$/,
  );
  expect(exitCode).toBe(1);
});

test.skipIf(!HAS_MOUNTS).each(["new/data", "there"])(
  "npm run service does, for a data directory `%s`",
  async (place) => {
    const { lines, exitCode, disk } = await run("service.ts", [], (root) => ({ SERVICE_DATA_DIR: join(root, place) }));
    expect(lines).toEqual([
      `svc: ${join(disk, place)} cannot be used: read-only file system (EROFS); SERVICE_DATA_DIR names another`,
    ]);
    expect(exitCode).toBe(1);
  },
);
