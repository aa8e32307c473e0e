import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { provideTree } from "../../scripts/clis.ts";

/** A user who owns nothing here and is in no group. */
const OTHER_USER = { uid: 65_533, gid: 65_533 };

async function createTree(mode: number): Promise<{ tree: string; directory: string }> {
  const base = await mkdtemp(join(tmpdir(), "turnd-clis-"));
  onTestFinished(() => rm(base, { recursive: true }));
  await chmod(base, 0o755);
  const closed = join(base, "closed");
  await mkdir(join(closed, "package/bin"), { recursive: true });
  await writeFile(join(closed, "package/package.json"), JSON.stringify({ name: "@scope/cli", version: "1.2.3" }));
  await writeFile(join(closed, "package/bin/cli"), "#!/bin/sh\n");
  await chmod(join(closed, "package/bin/cli"), 0o755);
  await symlink("cli", join(closed, "package/bin/alias"));
  await chmod(closed, mode);
  return { tree: join(closed, "package"), directory: join(base, "open") };
}

test("a tree the user can reach is used in place", async () => {
  const { tree, directory } = await createTree(0o755);
  expect(await provideTree(tree, directory, OTHER_USER)).toBe(tree);
});

test("a tree below a closed folder is linked whole", async () => {
  const { tree, directory } = await createTree(0o700);
  const provided = await provideTree(tree, directory, OTHER_USER);
  expect(provided).toBe(join(directory, "clis/@scope-cli-1.2.3"));
  expect((await stat(join(provided, "bin/cli"))).ino).toBe((await stat(join(tree, "bin/cli"))).ino);
  expect(await readFile(join(provided, "bin/alias"), "utf8")).toBe("#!/bin/sh\n");
});

test("a file closed to others is copied and opened, the original left as it is", async () => {
  const { tree, directory } = await createTree(0o755);
  await chmod(join(tree, "bin/cli"), 0o700);
  const provided = await provideTree(tree, directory, OTHER_USER);
  expect((await stat(join(provided, "bin/cli"))).mode & 0o777).toBe(0o755);
  expect((await stat(join(tree, "bin/cli"))).mode & 0o777).toBe(0o700);
});

test("a tree provided before is used again", async () => {
  const { tree, directory } = await createTree(0o700);
  const both = await Promise.all([provideTree(tree, directory, OTHER_USER), provideTree(tree, directory, OTHER_USER)]);
  expect(new Set([...both, await provideTree(tree, directory, OTHER_USER)]).size).toBe(1);
});

test("a package that is not installed is reported with what to do", async () => {
  await expect(provideTree("/nonexistent/package", tmpdir(), OTHER_USER)).rejects.toThrow(/setup\.mjs/);
});
