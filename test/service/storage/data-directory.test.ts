import {
  chmodSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findExposed, makePassable, protectDataDirectory } from "../../../src/service/storage/data-directory.ts";
import { holdDataDirectory } from "../../../src/service/storage/lock.ts";
import { CLI_USER, temporaryDirectory, userFile } from "../../harness/temporary.ts";

/** Paths in a directory, and the directory, that a user of another group could use; links have no mode. */
function openIn(directory: string): string[] {
  return [
    directory,
    ...readdirSync(directory, { recursive: true, encoding: "utf8" }).map((name) => join(directory, name)),
  ]
    .filter((path) => !lstatSync(path).isSymbolicLink() && (lstatSync(path).mode & 0o077) !== 0)
    .toSorted();
}

/** As an installation that left modes to the umask and to PGlite. */
function layOutOpen(data: string): void {
  for (const name of ["pglite/base", "objects/ab", "parsing-x", "workspaces", "turnd", "home"])
    mkdirSync(join(data, name), { recursive: true });
  mkdirSync(join(data, "pglite.before"));
  const files = ["secrets.json", "secrets.json.old", "admin-password", "turnd.log", "notes"];
  for (const name of [...files, "pglite/PG_VERSION", "pglite/base/1", "pglite.before/PG_VERSION"]) {
    writeFileSync(join(data, name), "x");
    chmodSync(join(data, name), 0o666);
  }
  chmodSync(data, 0o777);
}

test("what an earlier version left open in the data directory is closed, a second name of a database file too", async () => {
  const parent = temporaryDirectory(onTestFinished);
  const data = join(parent, "data");
  mkdirSync(data);
  layOutOpen(data);
  const kept = join(parent, "kept");
  linkSync(join(data, "pglite/base/1"), kept);
  symlinkSync("/etc/passwd", join(data, "pglite/link"));
  const passwd = statSync("/etc/passwd").mode;

  const closed = await protectDataDirectory(data);
  expect(closed.map(({ path }) => path).toSorted()).toEqual(
    "admin-password objects parsing-x pglite pglite.before secrets.json secrets.json.old turnd.log"
      .split(" ")
      .map((name) => join(data, name)),
  );
  expect(statSync(data).mode & 0o777).toBe(0o711);
  expect(statSync(kept).mode & 0o777).toBe(0o600);
  expect(statSync("/etc/passwd").mode).toBe(passwd);
  expect(openIn(join(data, "pglite"))).toEqual([]);
  // What is not the service's is reported, and left to its owner.
  expect(await findExposed(data)).toEqual([join(data, "notes")]);
  expect(await protectDataDirectory(data)).toEqual([]);
});

test("a data directory that all users share is refused", async () => {
  const data = join(temporaryDirectory(onTestFinished), "data");
  mkdirSync(data);
  chmodSync(data, 0o1777);
  await expect(protectDataDirectory(data)).rejects.toThrow("all users share");
  expect(statSync(data).mode & 0o7777).toBe(0o1777);
});

test.skipIf(process.getuid?.() !== 0)(
  "a database file of another user is refused: that user can change it",
  async () => {
    const data = join(temporaryDirectory(onTestFinished), "data");
    mkdirSync(join(data, "pglite"), { recursive: true });
    writeFileSync(join(data, "pglite/PG_VERSION"), "18\n");
    userFile(join(data, "pglite/PG_VERSION"));
    await expect(protectDataDirectory(data)).rejects.toThrow(`${join(data, "pglite/PG_VERSION")} belongs to uid 1000`);
  },
);

test("directories that are made are passed through whatever the umask", async () => {
  const parent = temporaryDirectory(onTestFinished);
  const before = process.umask(0o077);
  try {
    await makePassable(join(parent, "a/b"));
  } finally {
    process.umask(before);
  }
  for (const name of ["a", "a/b"]) expect(statSync(join(parent, name)).mode & 0o777).toBe(0o711);
});

const isRoot = process.getuid?.() === 0;

test.runIf(isRoot).each(["lock", "objects", "workspaces", "turnd"])(
  "a link that another user has put in the place of %s is refused, and nothing that it leads to is changed",
  async (name) => {
    const parent = temporaryDirectory(onTestFinished);
    const [data, elsewhere] = [join(parent, "data"), join(parent, "elsewhere")];
    mkdirSync(data);
    mkdirSync(elsewhere);
    chmodSync(elsewhere, 0o755);
    symlinkSync(elsewhere, join(data, name));
    lchownSync(join(data, name), CLI_USER.uid, CLI_USER.gid);
    await expect(protectDataDirectory(data)).rejects.toThrow(`${join(data, name)} belongs to uid 1000`);
    expect(statSync(elsewhere).mode & 0o777).toBe(0o755);
  },
);

test.runIf(isRoot).each(["workspaces", "turnd"])(
  "%s of another user is refused, who could exchange what is made and given away in it",
  async (name) => {
    const data = join(temporaryDirectory(onTestFinished), "data");
    mkdirSync(join(data, name), { recursive: true });
    userFile(join(data, name));
    await expect(protectDataDirectory(data)).rejects.toThrow(`${join(data, name)} belongs to uid 1000`);
  },
);

test.runIf(isRoot)("a link of the service's own user leads to a directory elsewhere, which is closed", async () => {
  const parent = temporaryDirectory(onTestFinished);
  const [data, volume] = [join(parent, "data"), join(parent, "volume")];
  mkdirSync(data);
  mkdirSync(volume);
  chmodSync(volume, 0o755);
  symlinkSync(volume, join(data, "objects"));
  expect(await protectDataDirectory(data)).toEqual([{ path: join(data, "objects"), entries: 1 }]);
  expect(statSync(volume).mode & 0o777).toBe(0o700);
});

test("a lock in whose place a link is empties nothing", async () => {
  const data = temporaryDirectory(onTestFinished);
  writeFileSync(join(data, "kept"), "kept");
  symlinkSync(join(data, "kept"), join(data, "lock"));
  await expect(holdDataDirectory(join(data, "lock"))).rejects.toThrow("ELOOP");
  expect(readFileSync(join(data, "kept"), "utf8")).toBe("kept");
});

test("files of a wide mode in a closed directory are closed without an alarm, but for one with a second name", async () => {
  const parent = temporaryDirectory(onTestFinished);
  const data = join(parent, "data");
  mkdirSync(join(data, "pglite"), { recursive: true });
  chmodSync(join(data, "pglite"), 0o700);
  for (const name of ["one", "two"]) writeFileSync(join(data, "pglite", name), "x");
  for (const name of ["one", "two"]) chmodSync(join(data, "pglite", name), 0o666);
  linkSync(join(data, "pglite/two"), join(parent, "kept"));
  expect(await protectDataDirectory(data)).toEqual([{ path: join(data, "pglite"), entries: 1 }]);
  expect(openIn(join(data, "pglite"))).toEqual([]);
});
