import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KeeperError, startKept, type KeptCommand } from "./keeper.ts";
import { sweepTree, waitForTree } from "./tree.ts";

/** What a keeper can do on this machine. */
export type KeeperState =
  | { readonly works: true; readonly isSubreaper: boolean }
  | { readonly works: false; readonly reason: string };

export interface KeeperCheckOptions extends Pick<KeptCommand, "keeperPath" | "runAs" | "group" | "starter"> {
  /** Holds the files of the check while it runs. */
  readonly stateDirectory: string;
}

/** `true` takes milliseconds; the rest is margin for a loaded machine. */
const TRY_LIMIT_MS = 5_000;

/** Runs `true` under a real keeper: shows that perl, the user switch, the subreaper and a control group work here. */
export async function tryKeeper({ stateDirectory, ...options }: KeeperCheckOptions): Promise<KeeperState> {
  let directory: string | undefined;
  try {
    directory = await mkdtemp(join(stateDirectory, "probe-"));
    await writeFile(join(directory, "prompt.txt"), "");
    const started = await startKept({ ...options, directory, command: ["/bin/true"], env: {}, cwd: "/" });
    // It may end by itself first: root without CAP_KILL may not signal another user's process, and that is no fault of
    // the keeper.
    if (!(await waitForTree(started, TRY_LIMIT_MS))) await sweepTree({ started, marker: directory });
    return { works: true, isSubreaper: started.isSubreaper };
  } catch (error) {
    // A full or read-only disk can be the reason too: turnd still serves what it has.
    const isOfTheDisk = error instanceof Error && "code" in error;
    if (error instanceof KeeperError || isOfTheDisk) return { works: false, reason: error.message };
    throw error;
  } finally {
    if (directory !== undefined) await remove(directory);
  }
}

/** What a broken disk keeps of this directory does not matter. */
async function remove(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true }).catch(() => undefined);
}
