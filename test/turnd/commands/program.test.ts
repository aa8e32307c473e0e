import { chmodSync, cpSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";

/** `bin/turnd` in a tree of its own, whose source says that it is the source. */
function tree() {
  const root = temporaryDirectory(onTestFinished);
  mkdirSync(join(root, "src/turnd/daemon"), { recursive: true });
  mkdirSync(join(root, "bin"));
  for (const file of ["package.json", "package-lock.json", "bin/turnd"]) {
    cpSync(join(REPOSITORY, file), join(root, file));
  }
  writeFileSync(join(root, "src/turnd/main.ts"), 'console.log("the source", ...process.argv.slice(2));\n');
  return {
    root,
    turnd: (path: string, ...args: string[]) =>
      execa(join(root, "bin/turnd"), args, { env: { PATH: path }, extendEnv: false, reject: false }),
  };
}

test("turnd runs as one file until its source is newer", async () => {
  const { root, turnd } = tree();
  symlinkSync(join(REPOSITORY, "node_modules"), join(root, "node_modules"));
  expect(await turnd("/usr/bin:/bin", "replay", "a b")).toMatchObject({ stdout: "the source replay a b" });
  mkdirSync(join(root, "dist/turnd"), { recursive: true });
  writeFileSync(join(root, "dist/turnd/main.mjs"), 'console.log("one file");\n');
  for (const path of ["package.json", "package-lock.json", "src/turnd/main.ts", "src/turnd/daemon", "src"])
    utimesSync(join(root, path), 1, 1);
  expect(await turnd("/usr/bin:/bin")).toMatchObject({ stdout: "one file" });
  // The agent service is another program.
  mkdirSync(join(root, "src/service"));
  utimesSync(join(root, "src"), 1, 1);
  expect(await turnd("/usr/bin:/bin")).toMatchObject({ stdout: "one file" });
  utimesSync(join(root, "dist/turnd/main.mjs"), 2, 2);
  utimesSync(join(root, "src/turnd/main.ts"), 3, 3);
  expect(await turnd("/usr/bin:/bin")).toMatchObject({ stdout: "the source" });
});

test("a Node that is too old is named in one line, and so is none", async () => {
  const { root, turnd } = tree();
  const programs = join(root, "programs");
  mkdirSync(programs);
  for (const name of ["sh", "dirname", "readlink", "find"]) symlinkSync(`/usr/bin/${name}`, join(programs, name));
  const none = await turnd(programs, "--version");
  expect([none.exitCode, none.stderr]).toEqual([1, expect.stringMatching(/^turnd: needs Node 22.*finds no Node.*$/)]);
  // Node 20 runs the check, and would die of the source.
  const old = `#!/bin/sh\n[ "$1" != --version ] || { echo v20.19.4; exit; }\nexit 1\n`;
  writeFileSync(join(programs, "node"), old);
  chmodSync(join(programs, "node"), 0o755);
  const found = await turnd(programs, "--version");
  expect([found.exitCode, found.stdout]).toEqual([1, ""]);
  expect(found.stderr).toMatch(/^turnd: needs Node 22\.18 or newer, and finds v20\.19\.4: .*$/);
});

test("npm exec finds turnd, and its Node, in the repository", async () => {
  const { stdout, exitCode } = await execa("npm", ["exec", "turnd", "--", "--version"], { cwd: REPOSITORY });
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
});
