import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { provideClis, provideVersion } from "../../scripts/clis.ts";
import { CLI_VERSIONS } from "./cli-versions.ts";
import { CLI_USER } from "./temporary.ts";

/** The pinned CLIs, where their user can reach them. */
export interface PinnedClis {
  /** Native binaries by version; no version is one of both CLIs. */
  readonly binaries: Readonly<Record<string, string>>;
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
  const where = { directory, uid, gid };
  const ofImage = await provideClis(where);
  const binaries: Record<string, string> = {};
  for (const [name, id] of [
    ["opencode", "cli-a"],
    ["codex", "cli-b"],
  ] as const) {
    const { all, image } = CLI_VERSIONS[name];
    for (const version of all) {
      binaries[version] = version === image ? ofImage.binaries[id] : await provideVersion(name, version, where);
    }
  }
  project.provide("clis", { binaries, tools: ofImage.toolsDirectory });
  return () => rmSync(directory, { recursive: true, force: true });
}
