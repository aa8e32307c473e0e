import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KeeperError, startKept } from "./keeper.ts";
import type { RunAs } from "./run-as.ts";
import { sweepTree } from "./tree.ts";

/** What a keeper can do on this machine. */
export type KeeperState =
  | { readonly works: true; readonly isSubreaper: boolean }
  | { readonly works: false; readonly reason: string };

/** Runs `true` under a keeper, for real: shows that perl, the user switch and the subreaper work here. */
export async function probeKeeper(keeperPath: string, stateDirectory: string, runAs: RunAs): Promise<KeeperState> {
  const directory = await mkdtemp(join(stateDirectory, "probe-"));
  try {
    await writeFile(join(directory, "prompt.txt"), "");
    const started = await startKept({ keeperPath, directory, command: ["/bin/true"], env: {}, cwd: "/", runAs });
    await sweepTree({ started, marker: directory });
    return { works: true, isSubreaper: started.isSubreaper };
  } catch (error) {
    if (error instanceof KeeperError) return { works: false, reason: error.message };
    throw error;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
