import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openPgliteDirectory } from "../../../src/service/storage/pglite-directory.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";

test("a start that was killed while it made the database is made good by the next; what is no database is refused", async () => {
  const parent = temporaryDirectory(onTestFinished);
  const directory = join(parent, "pglite");
  // What PGlite has written when it is killed early: enough to be taken for a database, and none.
  mkdirSync(`${directory}.new/base`, { recursive: true });
  writeFileSync(`${directory}.new/PG_VERSION`, "18\n");
  const first = await openPgliteDirectory(directory, {});
  await first.exec("create table kept (id int); insert into kept values (1)");
  await first.close();
  expect(readdirSync(parent)).toEqual(["pglite"]);
  const second = await openPgliteDirectory(directory, {});
  expect((await second.query("select id from kept")).rows).toEqual([{ id: 1 }]);
  await second.close();

  const other = join(parent, "other");
  mkdirSync(join(other, "base"), { recursive: true });
  await expect(openPgliteDirectory(other, {})).rejects.toMatchObject({
    name: "PgliteUnusable",
    message: expect.stringContaining("no PG_VERSION"),
  });
  expect(readdirSync(other)).toEqual(["base"]);
  writeFileSync(join(other, "PG_VERSION"), "18\n");
  await expect(openPgliteDirectory(other, {})).rejects.toMatchObject({
    name: "PgliteUnusable",
    message: expect.stringContaining(other),
  });
});

test("a new database is closed to others, and at every open what was left open", async () => {
  const directory = join(temporaryDirectory(onTestFinished), "pglite");
  const before = process.umask(0o022);
  try {
    const first = await openPgliteDirectory(directory, {});
    await first.exec("create table kept (id int); insert into kept values (1)");
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    await first.close();
    const names = readdirSync(directory, { recursive: true, encoding: "utf8" });
    for (const name of [".", ...names]) chmodSync(join(directory, name), 0o777);
    const second = await openPgliteDirectory(directory, {});
    expect((await second.query("select id from kept")).rows).toEqual([{ id: 1 }]);
    // PGlite gives what it makes anew a mode of its own, in a directory that no other user enters.
    const kept = names.filter((name) => !name.endsWith("pg_internal.init") && existsSync(join(directory, name)));
    expect(kept.filter((name) => (statSync(join(directory, name)).mode & 0o077) !== 0)).toEqual([]);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    await second.close();
  } finally {
    process.umask(before);
  }
});
