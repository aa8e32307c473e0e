import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { execa } from "execa";
import type { TestProject } from "vitest/node";
import { REPOSITORY } from "./temporary.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The program that tests start: what the image runs. */
    readonly turnd: string;
  }
}

/** Makes the one file that the image runs, once for all tests: from source each start takes a second more. */
export default async function provide(project: TestProject): Promise<() => void> {
  const directory = mkdtempSync(join(tmpdir(), "turnd-bundle-"));
  // Only by its name, as a person names a directory.
  const bundler = join(REPOSITORY, "scripts/bundle.ts");
  await execa(process.execPath, [bundler, basename(directory)], { cwd: dirname(directory) });
  symlinkSync(join(REPOSITORY, "sandbox"), join(directory, "sandbox"));
  project.provide("turnd", join(directory, "dist/turnd/main.mjs"));
  const accounts = readFileSync("/etc/passwd", "utf8");
  return () => {
    rmSync(directory, { recursive: true, force: true });
    const now = readFileSync("/etc/passwd", "utf8");
    if (now !== accounts) throw new Error(`the tests changed the accounts of this machine: ${now}`);
  };
}
