import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { isInstalled } from "../../scripts/install-missing.mjs";
import { processesNaming } from "../harness/processes.ts";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

const SCRIPTS = [
  "bundles",
  "install-in-group",
  "install-missing",
  "install-packages",
  "node-version",
  "run-npm",
  "setup",
];
const LOCK = '{"packages":{"":{},"node_modules/a":{"version":"1.0.0"}}}';

/** A clone in which nothing is installed, and an npm that does as the test says. */
function clone() {
  const root = temporaryDirectory(onTestFinished);
  mkdirSync(join(root, "bin"));
  copyFileSync(join(REPOSITORY, "test/programs/fake-npm"), join(root, "bin/npm"));
  chmodSync(join(root, "bin/npm"), 0o755);
  for (const name of SCRIPTS) cpSync(join(REPOSITORY, `scripts/${name}.mjs`), join(root, `scripts/${name}.mjs`));
  // Nothing is built of it.
  writeFileSync(join(root, "scripts/bundles.mjs"), "export const BUNDLES = []; export const isStale = () => false;");
  for (const folder of [".", "sandbox"]) {
    mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, folder, "package-lock.json"), LOCK);
  }
  const start = (how = "") => {
    const child = execa(process.execPath, [join(root, "scripts/setup.mjs")], {
      env: { PATH: `${join(root, "bin")}:/usr/bin:/bin`, FAKE_NPM: how },
      extendEnv: false,
      reject: false,
      all: true,
      stdin: "ignore",
      cleanup: false,
      forceKillAfterDelay: false,
    });
    return child;
  };
  const left = (): number[] => processesNaming(root, "anywhere");
  onTestFinished(() => {
    for (const pid of left()) process.kill(pid, "SIGKILL");
  });
  const isThere = (): boolean => [".", "sandbox"].every((folder) => isInstalled(join(root, folder)));
  return { root, start, left, isThere };
}

test("what is missing is installed, and what is done is said; a second start installs nothing", async () => {
  const { root, start, isThere } = clone();
  const { all, exitCode } = await start();
  expect(exitCode, all).toBe(0);
  expect(all).toMatch(
    /installing the packages of the repository \(1\) …[^]*installed the packages of the repository in \d+ s/,
  );
  expect(isThere()).toBe(true);
  const again = await start("fail");
  expect([again.exitCode, again.all]).toEqual([0, ""]);
  expect(readFileSync(join(root, "runs"), "utf8")).toBe("run\n");
});

test.each(["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"] as const)(
  "%s ends npm and all it started, whatever that ignores, and the next start installs",
  async (signal) => {
    const { root, start, left, isThere } = clone();
    const first = start("hang");
    await waitFor("npm", () => existsSync(join(root, "started")) && existsSync(join(root, "still-here")));
    first.kill(signal);
    const ended = await first;
    if (signal === "SIGKILL") expect(ended.signal).toBe("SIGKILL");
    else {
      expect(ended.exitCode).toBe(128 + { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 }[signal]);
      expect(ended.all).toContain("the installation was stopped; the next start makes it again");
      expect(left()).toEqual([]);
    }
    await waitFor("the end of npm", () => left().length === 0);
    const { all, exitCode } = await start();
    expect(exitCode, all).toBe(0);
    expect(isThere()).toBe(true);
  },
);

test("npm ends with its start also where the process between them is killed", async () => {
  const { root, start, left } = clone();
  const first = start("hang");
  await waitFor("npm", () => existsSync(join(root, "still-here")));
  const [between = 0] = processesNaming(join(root, "scripts/install-in-group.mjs"));
  process.kill(between, "SIGKILL");
  const { exitCode } = await first;
  expect(exitCode).toBe(1);
  await waitFor("the end of npm", () => left().length === 0);
});

test("of two starts at once the second waits, says for whom, and installs nothing", async () => {
  const { root, start, isThere } = clone();
  const first = start("wait");
  await waitFor("npm", () => existsSync(join(root, "started")));
  const second = start("fail");
  let said = "";
  second.all.on("data", (bytes) => (said += String(bytes)));
  await waitFor("its word", () => said.includes("waiting for it"));
  expect(said).toContain(`another start, process ${first.pid}, installs the packages: waiting for it`);
  writeFileSync(join(root, "go"), "");
  writeFileSync(join(root, "sandbox/go"), "");
  const ended = await Promise.all([first, second]);
  expect(ended.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
  expect(isThere()).toBe(true);
  expect(readFileSync(join(root, "runs"), "utf8")).toBe("run\n");
});

test("a second start takes over from one that is killed while it waits", async () => {
  const { root, start, isThere } = clone();
  const first = start("hang");
  await waitFor("npm", () => existsSync(join(root, "still-here")));
  const second = start();
  let said = "";
  second.all.on("data", (bytes) => (said += String(bytes)));
  await waitFor("its word", () => said.includes("waiting for it"));
  first.kill("SIGKILL");
  const { exitCode, all } = await second;
  expect(exitCode, all).toBe(0);
  expect(isThere()).toBe(true);
});

test("a broken installation is made again", async () => {
  const { root, start, isThere } = clone();
  mkdirSync(join(root, "node_modules/left/deep"), { recursive: true });
  const { all, exitCode } = await start("broken");
  expect(exitCode, all).toBe(0);
  expect(all).toContain(
    "what an installation that was broken off has left of the repository is removed, and made again",
  );
  expect(isThere()).toBe(true);
});

test("what is half removed is not taken for installed, whatever was noted before", async () => {
  const { root, start, isThere } = clone();
  await start();
  rmSync(join(root, "runs"));
  // Another lock: npm is to replace all of it, and is stopped in the middle.
  writeFileSync(join(root, "package-lock.json"), `${LOCK}\n`);
  writeFileSync(join(root, "node_modules/.turnd-installed"), "of another lock");
  rmSync(join(root, "node_modules/a/package.json"));
  const first = start("hang");
  await waitFor("npm", () => existsSync(join(root, "still-here")));
  first.kill("SIGTERM");
  await first;
  writeFileSync(join(root, "node_modules/a/package.json"), '{"version":"1.0.0"}');
  expect(isInstalled(root)).toBe(false);
  await start();
  expect(isThere()).toBe(true);
});

test("where npm fails, the start does, and says where", async () => {
  const { root, start, left } = clone();
  const { all, exitCode } = await start("fail");
  expect(exitCode).toBe(1);
  expect(all).toContain("npm error 404 no such package");
  expect(all).toContain(`npm ci failed in ${root} (exit code 1)`);
  expect(left()).toEqual([]);
  expect(statSync(join(root, ".turnd-install.lock")).isFile()).toBe(true);
});
