import { readFileSync, symlinkSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";

test("a script that is started through a link runs, as one that is started by its own path", async () => {
  const link = join(temporaryDirectory(onTestFinished), "repository");
  symlinkSync(REPOSITORY, link);
  for (const root of [REPOSITORY, link]) {
    // Without its argument it says what it needs, and does nothing.
    const { exitCode, stderr } = await execa(process.execPath, [join(root, "scripts/bundle.ts")], { reject: false });
    expect([exitCode, stderr]).toEqual([2, "usage: node scripts/bundle.ts <directory>"]);
  }
});

test("no script compares the path it was started by: that is another one through a link", async () => {
  const scripts: string[] = [];
  for await (const path of glob("{bin,examples,sandbox,scripts,src}/**/*.{ts,mjs}", { cwd: REPOSITORY }))
    scripts.push(path);
  const own = scripts.filter((path) => !path.includes("node_modules"));
  expect(own.length).toBeGreaterThan(100);
  const comparing = own.filter((path) =>
    /argv\[1\]\s*[!=]==|[!=]==\s*process\.argv\[1\]/.test(readFileSync(join(REPOSITORY, path), "utf8")),
  );
  expect(comparing).toEqual([]);
});
