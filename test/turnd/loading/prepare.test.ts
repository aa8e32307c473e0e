import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import { FLAGS, useCompileCache } from "../../../src/turnd/loading/prepare.ts";
import { startDaemon, type TestDaemon } from "../../harness/daemon.ts";
import { fakeEnv } from "../../harness/fake-env.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";

function makeCache(): string {
  const cache = join(temporaryDirectory(onTestFinished), "cache");
  mkdirSync(cache, { mode: 0o700 });
  return cache;
}

test("no code is taken from where another user than root can write", () => {
  const refused: [cache: string, reason: RegExp][] = [[join(temporaryDirectory(onTestFinished), "missing"), /ENOENT/]];
  const add = (reason: RegExp, change: (cache: string) => void): void => {
    const cache = makeCache();
    change(cache);
    refused.push([cache, reason]);
  };
  for (const mode of [0o770, 0o707, 0o750, 0o701]) add(/is open to other users/, (cache) => chmodSync(cache, mode));
  add(/is open to other users/, (cache) => chmodSync(dirname(cache), 0o1777));
  add(/is open to other users/, (cache) => chmodSync(dirname(cache), 0o775));
  const link = join(temporaryDirectory(onTestFinished), "cache");
  symlinkSync(makeCache(), link);
  refused.push([link, /is no directory/]);
  if (!CLI_USER.isSelf) {
    add(/belongs to uid/, (cache) => chownSync(cache, CLI_USER.uid, CLI_USER.gid));
    add(/belongs to uid/, (cache) => chownSync(dirname(cache), CLI_USER.uid, CLI_USER.gid));
  }
  for (const [cache, reason] of refused) expect(useCompileCache(cache)).toMatch(reason);
});

/** A bundle of its own, whose compiled code is not others'. */
function ownBundle(): { program: string; cache: string } {
  const given = dirname(inject("turnd"));
  const root = temporaryDirectory(onTestFinished);
  const directory = join(root, "dist/turnd");
  const cache = join(directory, "cache");
  mkdirSync(cache, { recursive: true, mode: 0o755 });
  chmodSync(cache, 0o700);
  for (const name of ["main.mjs", "program.cjs"]) cpSync(join(given, name), join(directory, name));
  symlinkSync(join(REPOSITORY, "sandbox"), join(root, "sandbox"));
  symlinkSync(join(given, "../../node_modules"), join(root, "node_modules"));
  return { program: join(directory, "main.mjs"), cache };
}

/** Which files are kept, and which inode and time each has: another after it was made again. */
function keptIn(cache: string): Map<string, string> {
  const files = readdirSync(cache, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const { ino, mtimeMs } = statSync(join(parentPath, name));
      return [join(parentPath, name), `${ino} ${mtimeMs}`];
    }),
  );
}

test("a second start takes the code that a first has kept, and one on damaged code makes that again", async () => {
  const { program, cache } = ownBundle();
  const directory = temporaryDirectory(onTestFinished);
  const start = (): Promise<TestDaemon> => startDaemon({ directory, env: fakeEnv(directory), program });
  const use = async (turnd: TestDaemon): Promise<void> => {
    expect((await turnd.run({ executor: "cli-b", input: "say hello" })).status).toBe("completed");
    expect(await turnd.stop()).toBe(0);
  };
  const first = await start();
  // While it runs, so that one that is killed later has kept it too.
  await expect.poll(() => keptIn(cache).size, { timeout: 60_000 }).toBe(1);
  await use(first);
  const kept = keptIn(cache);
  await use(await start());
  expect(keptIn(cache)).toEqual(kept);
  for (const path of kept.keys()) {
    const bytes = readFileSync(path);
    bytes.fill(0xff, bytes.length / 2);
    writeFileSync(path, bytes);
  }
  const damaged = keptIn(cache);
  await use(await start());
  expect([...keptIn(cache).keys()]).toEqual([...kept.keys()]);
  expect(keptIn(cache)).not.toEqual(damaged);
});

test("where compiled code cannot be kept, turnd works as ever", async () => {
  const { program, cache } = ownBundle();
  // In the place of the directory that Node makes for its version.
  const where = `console.log(require("node:module").enableCompileCache(${JSON.stringify(cache)}).directory)`;
  const { stdout } = await execa(process.execPath, ["--eval", where]);
  rmSync(stdout, { recursive: true });
  writeFileSync(stdout, "");
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await startDaemon({ directory, env: { ...fakeEnv(directory), TURND_LOG_LEVEL: "debug" }, program });
  expect(turnd.log.some((line) => line.includes('"msg":"no compiled code"'))).toBe(true);
  expect((await turnd.run({ executor: "cli-b", input: "say hello" })).status).toBe("completed");
  expect(await turnd.stop()).toBe(0);
});

test("a command that ends at once keeps nothing: a start would take it for all there is", async () => {
  const { program, cache } = ownBundle();
  for (const args of [["--help"], ["--version"], ["serve", "--help"], ["turns", "--help"]])
    expect((await execa(process.execPath, [program, ...args])).exitCode).toBe(0);
  expect(keptIn(cache).size).toBe(0);
});

/** Many calls of the same function, more than V8 leaves unoptimised. */
const PROBES = 300;

const startTraced = (directory: string): Promise<TestDaemon> =>
  startDaemon({
    directory,
    env: fakeEnv(directory),
    through: ["sh", "-c", 'exec "$0" --trace-opt "$@"'],
  });

const optimised = ({ log }: TestDaemon): string[] => log.filter((line) => line.includes("completed optimizing"));

test("a turnd that has only been probed has optimised nothing, and one that works does", async () => {
  const turnd = await startTraced(temporaryDirectory(onTestFinished));
  for (let probe = 0; probe < PROBES; probe += 1) {
    expect((await turnd.request("GET", "/v1/health")).status).toBe(200);
  }
  expect((await turnd.request("GET", "/v1/ready")).status).toBe(200);
  expect(optimised(turnd)).toEqual([]);
  expect((await turnd.run({ executor: "cli-b", input: "burst 5000" })).status).toBe("completed");
  expect(optimised(turnd)).not.toEqual([]);
  expect(await turnd.stop()).toBe(0);
});

test("a turnd that resumes a turn optimises without a request", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await startTraced(directory);
  await first.admit({ executor: "cli-b", input: "burst 5000" });
  first.kill("SIGKILL");
  await first.exited;
  const second = await startTraced(directory);
  await expect.poll(() => optimised(second), { timeout: 60_000 }).not.toEqual([]);
  expect(await second.stop()).toBe(0);
});

test("V8 knows every flag that is set", () => {
  const known = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  const names = FLAGS.map((flag) => flag.replace("--no-", "--").replace(/=.*/, ""));
  expect(names.filter((name) => !known.includes(`  ${name} (`))).toEqual([]);
});
