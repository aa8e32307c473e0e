import { chmodSync, linkSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findExposed, makePassable, protectDataDirectory } from "../../../src/service/storage/data-directory.ts";
import { temporaryDirectory, userFile } from "../../harness/temporary.ts";

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
  for (const name of ["secrets.json", "admin-password", "turnd.log", "pglite/PG_VERSION", "pglite/base/1", "notes"]) {
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
    ["admin-password", "objects", "parsing-x", "pglite", "secrets.json", "turnd.log"].map((name) => join(data, name)),
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
