import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bundleSvc } from "../../../scripts/bundle-svc.ts";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";

test("svc runs as one file until its source is newer", async () => {
  const root = temporaryDirectory(onTestFinished);
  for (const folder of ["service/svc", "kit/command-line"]) mkdirSync(join(root, "src", folder), { recursive: true });
  mkdirSync(join(root, "bin"));
  for (const file of ["package.json", "package-lock.json", "bin/svc"]) cpSync(join(REPOSITORY, file), join(root, file));
  symlinkSync(join(REPOSITORY, "node_modules"), join(root, "node_modules"));
  const source = join(root, "src/service/svc/main.ts");
  const env = { PATH: "/usr/bin:/bin", HOME: root };
  const svc = (...args: string[]): string => execFileSync(join(root, "bin/svc"), args, { env, encoding: "utf8" });
  writeFileSync(source, 'console.log("the source");\n');
  expect(svc("--version")).toBe("the source\n");
  const bundle = join(root, "dist/service/svc/main.mjs");
  await bundleSvc(bundle);
  for (const file of [
    "package.json",
    "package-lock.json",
    "src/service/svc/main.ts",
    "src/service/svc",
    "src/kit/command-line",
    "src/kit",
  ])
    utimesSync(join(root, file), 1, 1);
  // One file is whole: nothing of the source is beside it.
  expect(svc("--version")).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(svc("kb", "--help")).toContain("upload the files of a directory");
  expect(() => svc("kb", "list")).toThrow("not_logged_in");
  // All of the kit is part of it.
  const kit = join(root, "src/kit/retry.ts");
  writeFileSync(kit, "");
  expect(svc("--version")).toBe("the source\n");
  rmSync(kit);
  utimesSync(join(root, "src/kit"), 1, 1);
  expect(svc("--version")).toMatch(/^\d/);
  utimesSync(bundle, 1, 1);
  utimesSync(source, 2, 2);
  expect(svc("--version")).toBe("the source\n");
});
