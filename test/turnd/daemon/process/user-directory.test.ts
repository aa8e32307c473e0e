import { chmodSync, lstatSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { resolveProtectedPath } from "../../../../src/turnd/daemon/process/user-files/protected-path.ts";
import { makeUserDirectory } from "../../../../src/turnd/daemon/process/user-files/user-directory.ts";
import { startAttack } from "../../../harness/attack.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../../../harness/temporary.ts";

const IS_ROOT = process.getuid?.() === 0;

test("a directory of the user's is made once, with its mode", async () => {
  const path = join(temporaryDirectory(onTestFinished), "home");
  await makeUserDirectory(path, CLI_USER, 0o750);
  writeFileSync(join(path, "kept"), "");
  await makeUserDirectory(path, CLI_USER);
  expect(statSync(path)).toMatchObject({ uid: CLI_USER.uid, gid: CLI_USER.gid });
  expect((statSync(path).mode & 0o777).toString(8)).toBe("750");
});

test.runIf(IS_ROOT)("what is there and not the user's is given away only where it is empty", async () => {
  const base = temporaryDirectory(onTestFinished);
  mkdirSync(join(base, "empty"));
  mkdirSync(join(base, "full/in"), { recursive: true });
  symlinkSync(join(base, "full"), join(base, "link"));
  await makeUserDirectory(join(base, "empty"), CLI_USER);
  expect(statSync(join(base, "empty")).uid).toBe(CLI_USER.uid);
  for (const name of ["full", "link"]) await expect(makeUserDirectory(join(base, name), CLI_USER)).rejects.toThrow();
  expect(statSync(join(base, "full")).uid).toBe(0);
});

test.runIf(IS_ROOT)("a user who swaps the new directory for a link is given nothing of root's", async () => {
  const base = temporaryDirectory(onTestFinished);
  const target = join(base, "target");
  mkdirSync(target, { mode: 0o700 });
  const place = userDirectory(join(base, "place"));
  const attack = await startAttack("swap-for-link", place, target);
  for (let round = 0; round < 50; round += 1) {
    await makeUserDirectory(join(place, "home"), CLI_USER).catch(() => undefined);
    expect(statSync(target).uid).toBe(0);
  }
  attack.end();
});

test.runIf(IS_ROOT)("a path is protected where the user can change no step of it", async () => {
  const base = temporaryDirectory(onTestFinished);
  mkdirSync(join(base, "own/in"), { recursive: true });
  const users = userDirectory(join(base, "users"));
  mkdirSync(join(users, "roots"));
  symlinkSync(join(base, "own"), join(base, "link"));
  mkdirSync(join(base, "open/in"), { recursive: true });
  chmodSync(join(base, "open"), 0o777);
  mkdirSync(join(base, "sticky/in"), { recursive: true });
  chmodSync(join(base, "sticky"), 0o1777);
  const resolve = (name: string): Promise<string | undefined> => resolveProtectedPath(join(base, name), CLI_USER);
  expect(await resolve("own/in")).toBe(join(base, "own/in"));
  expect(await resolve("link/in")).toBe(join(base, "own/in"));
  expect(await resolve("sticky/in")).toBe(join(base, "sticky/in"));
  for (const name of ["users", "users/roots", "open", "open/in", "missing"]) {
    expect([name, await resolve(name)]).toEqual([name, undefined]);
  }
  expect(lstatSync(join(base, "link")).isSymbolicLink()).toBe(true);
});
