import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the tests' temporary directories are. */
    readonly temporary: string;
  }
}

/** What the projects of one run share, each of which loads this file for itself. */
interface Shared {
  made: Promise<Place> | undefined;
  users: number;
}
interface Place {
  readonly directory: string;
  remove(): Promise<void>;
}
const NAME = Symbol.for("turnd's temporary directories");
const shared = ((globalThis as { [NAME]?: Shared })[NAME] ??= { made: undefined, users: 0 });

/** Keeps what tests write in memory, where this user may mount that: a turn waits for the disk dozens of times. */
export default async function provide(project: TestProject): Promise<() => Promise<void>> {
  shared.users += 1;
  const { directory, remove } = await (shared.made ??= make());
  project.provide("temporary", directory);
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    shared.made = undefined;
    await remove();
  };
}

async function make(): Promise<Place> {
  const disk = tmpdir();
  const directory = mkdtempSync(join(disk, "turnd-memory-"));
  const mounted = await execa("mount", ["-t", "tmpfs", "-o", "mode=1777", "turnd-tests", directory], { reject: false });
  if (mounted.failed) {
    rmSync(directory, { recursive: true });
    return { directory: disk, remove: () => Promise.resolve() };
  }
  return {
    directory,
    async remove() {
      await execa("umount", [directory]);
      rmSync(directory, { recursive: true });
    },
  };
}
