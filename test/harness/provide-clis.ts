import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { provideClis } from "../../scripts/clis.ts";
import { CLI_USER } from "./temporary.ts";

/** Native binaries of the pinned CLIs, by version. */
export interface PinnedClis {
  readonly "1.14.34": string;
  readonly "1.3.2": string;
  readonly "0.139.0": string;
  /** Holds `rg`. */
  readonly tools: string;
}

declare module "vitest" {
  interface ProvidedContext {
    readonly clis: PinnedClis;
  }
}

/** Puts the real CLIs where their user can reach them, once for all files of a run. */
export default async function provide(project: TestProject): Promise<() => void> {
  const directory = mkdtempSync(join(tmpdir(), "turnd-clis-"));
  chmodSync(directory, 0o755);
  const { uid, gid } = CLI_USER;
  const current = await provideClis({ directory, uid, gid });
  const older = await provideClis({ directory, uid, gid, pins: "test/pins" });
  project.provide("clis", {
    "1.14.34": current.binaries["cli-a"],
    "1.3.2": older.binaries["cli-a"],
    "0.139.0": current.binaries["cli-b"],
    tools: current.toolsDirectory,
  });
  return () => rmSync(directory, { recursive: true, force: true });
}
