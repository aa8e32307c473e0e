import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeOwnDirectory, removeOwnDirectory } from "../../../../src/turnd/daemon/process/user-files/own-directory.ts";
import { processesNaming } from "../../../harness/processes.ts";
import { CLI_USER, giveToUser, temporaryDirectory, userDirectory } from "../../../harness/temporary.ts";

const REMOVAL = { runAs: CLI_USER, limitMs: 10_000 };

function root(): string {
  return userDirectory(join(temporaryDirectory(onTestFinished), "root"));
}

test("a directory is made by the CLIs' user, once", async () => {
  const path = join(root(), "own");
  expect(await makeOwnDirectory(path, { runAs: CLI_USER })).toBe(true);
  const { uid, gid, mode } = statSync(path);
  expect([uid, gid, mode & 0o777]).toEqual([CLI_USER.uid, CLI_USER.gid, 0o755]);
  expect(await makeOwnDirectory(path, { runAs: CLI_USER })).toBe(false);
});

test("a name that a file or a link has is taken", async () => {
  const place = root();
  writeFileSync(join(place, "file"), "");
  symlinkSync("/nowhere", join(place, "link"));
  for (const name of ["file", "link"])
    expect(await makeOwnDirectory(join(place, name), { runAs: CLI_USER })).toBe(false);
  expect(readdirSync(place).toSorted()).toEqual(["file", "link"]);
});

test.skipIf(CLI_USER.isSelf)("what that user may not do is refused, with the system's reason", async () => {
  const place = temporaryDirectory(onTestFinished);
  await expect(makeOwnDirectory(join(place, "own"), { runAs: CLI_USER })).rejects.toThrow(
    /\/own cannot be made.*EACCES/,
  );
  mkdirSync(join(place, "theirs"));
  await expect(removeOwnDirectory(join(place, "theirs"), REMOVAL)).rejects.toThrow(/cannot be removed.*EACCES/);
  expect(existsSync(join(place, "theirs"))).toBe(true);
});

test("a tree of any kind is removed, and nothing that its links name", async () => {
  const place = root();
  const outside = join(place, "outside");
  mkdirSync(join(place, "own/a/b"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, "file"), "");
  symlinkSync(outside, join(place, "own/a/link"));
  symlinkSync(outside, join(place, "link"));
  giveToUser(place);
  chmodSync(join(place, "own/a"), 0o000);
  for (const name of ["own", "link", "never-there", "neither/this"])
    await removeOwnDirectory(join(place, name), REMOVAL);
  expect(readdirSync(place)).toEqual(["outside"]);
  expect(readdirSync(outside)).toEqual(["file"]);
});

test("a root that has become a link is not followed", async () => {
  const place = root();
  mkdirSync(join(place, "real/own"), { recursive: true });
  giveToUser(place);
  symlinkSync(join(place, "real"), join(place, "root"));
  await expect(removeOwnDirectory(join(place, "root/own"), REMOVAL)).rejects.toThrow(/ELOOP|ENOTDIR/);
  expect(existsSync(join(place, "real/own"))).toBe(true);
});

test("only an empty directory is taken back", async () => {
  const place = root();
  mkdirSync(join(place, "own"));
  writeFileSync(join(place, "own/file"), "");
  giveToUser(place);
  await expect(removeOwnDirectory(join(place, "own"), { ...REMOVAL, isEmpty: true })).rejects.toThrow(/ENOTEMPTY/);
  expect(readdirSync(join(place, "own"))).toEqual(["file"]);
});

test("a removal ends with its signal, and so does its process", async () => {
  const place = root();
  const gone = new AbortController();
  gone.abort(new Error("turnd stops"));
  await expect(removeOwnDirectory(join(place, "own"), { ...REMOVAL, signal: gone.signal })).rejects.toThrow(
    "turnd stops",
  );
  expect(processesNaming(Buffer.from(place).toString("hex"), "anywhere")).toEqual([]);
});
