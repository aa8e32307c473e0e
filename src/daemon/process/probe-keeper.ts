import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KeeperError, startKept } from "./keeper.ts";
import type { RunAs } from "./run-as.ts";
import { sweepTree, waitForTree } from "./tree.ts";

/** What a keeper can do on this machine. */
export type KeeperState =
  | { readonly works: true; readonly isSubreaper: boolean }
  | { readonly works: false; readonly reason: string };

/** `true` takes milliseconds; the rest is for a loaded machine. */
const PROBE_LIMIT_MS = 5_000;

/** Runs `true` under a keeper, for real: shows that perl, the user switch and the subreaper work here. */
export async function probeKeeper(keeperPath: string, stateDirectory: string, runAs: RunAs): Promise<KeeperState> {
  const directory = await mkdtemp(join(stateDirectory, "probe-"));
  try {
    await writeFile(join(directory, "prompt.txt"), "");
    const started = await startKept({ keeperPath, directory, command: ["/bin/true"], env: {}, cwd: "/", runAs });
    // Left to itself first: root without CAP_KILL may signal nothing of another user's, and that is no fault of the keeper.
    if (!(await waitForTree(started, PROBE_LIMIT_MS))) await sweepTree({ started, marker: directory });
    return { works: true, isSubreaper: started.isSubreaper };
  } catch (error) {
    if (error instanceof KeeperError) return { works: false, reason: error.message };
    throw error;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
