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

/** What the projects of one run share, each of which loads this file for itself. */
interface Shared {
  made: Promise<string> | undefined;
  users: number;
}
const NAME = Symbol.for("turnd's bundle");
const shared = ((globalThis as { [NAME]?: Shared })[NAME] ??= { made: undefined, users: 0 });

/** Makes the one file that the image runs, once for all tests: from source each start takes a second more. */
export default async function provide(project: TestProject): Promise<() => Promise<void>> {
  shared.users += 1;
  const directory = await (shared.made ??= make());
  project.provide("turnd", join(directory, "dist/turnd/main.mjs"));
  const accounts = readFileSync("/etc/passwd", "utf8");
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    shared.made = undefined;
    rmSync(directory, { recursive: true, force: true });
    const now = readFileSync("/etc/passwd", "utf8");
    if (now !== accounts) throw new Error(`the tests changed the accounts of this machine: ${now}`);
  };
}

async function make(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "turnd-bundle-"));
  // By its name alone, as a person names a directory.
  const bundler = join(REPOSITORY, "scripts/bundle.ts");
  await execa(process.execPath, [bundler, basename(directory)], { cwd: dirname(directory) });
  symlinkSync(join(REPOSITORY, "sandbox"), join(directory, "sandbox"));
  return directory;
}
