import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { RemovalError, removeDirectory } from "../../../../src/turnd/daemon/process/user-files/remove-directory.ts";
import { startAttack } from "../../../harness/attack.ts";
import { CLI_USER, temporaryDirectory, userDirectory, userFile } from "../../../harness/temporary.ts";

const IS_ROOT = process.getuid?.() === 0;
const options = { runAs: CLI_USER };

/** What turnd makes for a session or a probe: root's directory, the user's inside it. */
function makeStage(): { base: string; outer: string; home: string } {
  const base = temporaryDirectory(onTestFinished);
  const outer = join(base, "outer");
  mkdirSync(outer, { mode: 0o711 });
  return { base, outer, home: userDirectory(join(outer, "home")) };
}

test("nothing is left of a directory with closed directories, links and a closed home", async () => {
  const { base, outer, home } = makeStage();
  mkdirSync(join(outer, "turns/one"), { recursive: true, mode: 0o700 });
  writeFileSync(join(outer, "turns/one/turn.json"), "{}");
  symlinkSync(base, join(outer, "turns/link"));
  const kept = join(base, "kept");
  mkdirSync(join(kept, "in"), { recursive: true });
  symlinkSync(kept, join(home, "link"));
  for (const path of ["closed", "closed/in"]) userDirectory(join(home, path));
  for (const path of ["closed/in", "closed", "."]) chmodSync(join(home, path), 0);
  await removeDirectory(outer, options);
  expect(existsSync(outer)).toBe(false);
  expect(readdirSync(kept)).toEqual(["in"]);
  await removeDirectory(outer, options);
});

test("what is no directory is removed as what it is, a link without what it leads to", async () => {
  const { base, outer } = makeStage();
  symlinkSync(outer, join(base, "link"));
  await removeDirectory(join(base, "link"), options);
  expect(readdirSync(base)).toEqual(["outer"]);
});

test.runIf(IS_ROOT)("what is not the user's is left, all else is removed, and the next try can end it", async () => {
  const { outer, home } = makeStage();
  mkdirSync(join(home, "roots/own"), { recursive: true });
  mkdirSync(join(outer, "turns"), { mode: 0o700 });
  writeFileSync(join(home, "file"), "");
  userFile(join(home, "file"));
  await expect(removeDirectory(outer, options)).rejects.toThrow(RemovalError);
  expect([readdirSync(outer), readdirSync(home)]).toEqual([["home"], ["roots"]]);
  rmSync(join(home, "roots"), { recursive: true });
  await removeDirectory(outer, options);
  expect(existsSync(outer)).toBe(false);
});

test.runIf(IS_ROOT)("root goes down into no directory that others can write", async () => {
  const { base, outer } = makeStage();
  for (const [name, mode] of [
    ["group", 0o770],
    ["others", 0o707],
  ] as const) {
    mkdirSync(join(outer, name, "in"), { recursive: true });
    writeFileSync(join(outer, name, "in/f"), "");
    chmodSync(join(outer, name), mode);
  }
  await expect(removeDirectory(outer, options)).rejects.toThrow(RemovalError);
  expect(existsSync(join(base, "outer/group/in/f")) && existsSync(join(base, "outer/others/in/f"))).toBe(true);
});

test.runIf(IS_ROOT)("a tree that is moved in and a link that takes a place in it lead root nowhere", async () => {
  const { base, outer, home } = makeStage();
  const target = join(base, "target");
  mkdirSync(join(target, "deep"), { recursive: true });
  for (const name of ["one", "deep/two"]) writeFileSync(join(target, name), "root's");
  chmodSync(target, 0o700);
  const own = userDirectory(join(base, "own"));
  const attack = await startAttack("swap-while-removed", home, target, join(own, "attack"));
  // It may hold the directory in use, or have filled it: then it is left, and said so.
  await removeDirectory(outer, options).catch((error: unknown) => expect(error).toBeInstanceOf(RemovalError));
  writeFileSync(join(own, "attack/over"), "");
  await attack.said;
  expect(readdirSync(target).toSorted()).toEqual(["deep", "one"]);
  expect(readdirSync(join(target, "deep"))).toEqual(["two"]);
  await removeDirectory(outer, options);
  expect(existsSync(outer)).toBe(false);
});

test.runIf(IS_ROOT)("a removal that cannot end within its limit is given up, and ended by a later try", async () => {
  const { outer } = makeStage();
  // A process for each: together they take longer than the limit on any machine.
  for (let number = 0; number < 30; number += 1) userDirectory(join(outer, `home${number}`));
  await expect(removeDirectory(outer, { ...options, limitMs: 1 })).rejects.toThrow(RemovalError);
  expect(readdirSync(outer).length).toBeGreaterThan(20);
  await removeDirectory(outer, options);
  expect(existsSync(outer)).toBe(false);
});

test.runIf(IS_ROOT)("a directory that is filled without end holds up no removal, whichever is faster", async () => {
  const { outer, home } = makeStage();
  const attack = await startAttack("refill", home, "300");
  const startedAt = performance.now();
  await removeDirectory(outer, { ...options, limitMs: 2_000 }).catch((error: unknown) =>
    expect(error).toBeInstanceOf(RemovalError),
  );
  expect(performance.now() - startedAt).toBeLessThan(30_000);
  attack.end();
  await removeDirectory(outer, options);
  expect(existsSync(outer)).toBe(false);
});

test("a removal that is called off ends at once", async () => {
  const { outer, home } = makeStage();
  writeFileSync(join(home, "file"), "");
  await expect(removeDirectory(outer, { ...options, signal: AbortSignal.abort() })).rejects.toThrow(RemovalError);
  expect(existsSync(join(home, "file"))).toBe(true);
  chownSync(home, CLI_USER.uid, CLI_USER.gid);
});
