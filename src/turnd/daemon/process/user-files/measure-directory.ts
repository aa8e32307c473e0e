import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { RunAs } from "../run-as.ts";
import { runTask } from "../run-tool.ts";

const LIMIT_MS = 60_000;
const BLOCK_BYTES = 512;
/** Not in Node's list: a handle on a directory that need not be readable. @see open(2) */
const O_PATH = 0o10_000_000;

/**
 * What a directory of turnd takes on the disk. Below it, directories of another user are measured with that user's rights:
 * root walks no path that the user can change.
 *
 * @returns bytes; undefined where a part cannot be measured within a minute
 */
export async function measureDirectory(path: string, runAs: RunAs, signal: AbortSignal): Promise<number | undefined> {
  const directory = await open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(() => undefined);
  if (directory === undefined) return undefined;
  try {
    const held = `/proc/self/fd/${directory.fd}`;
    const { uid, mode, blocks } = await directory.stat();
    if (runAs.isSelf || uid !== process.getuid?.() || (mode & 0o022) !== 0)
      return await measureAsUser(held, runAs, signal);
    let total = blocks * BLOCK_BYTES;
    for (const name of await readdir(held)) {
      const below = join(held, name);
      const found = await lstat(below).catch(() => undefined);
      if (found === undefined) continue;
      const bytes = found.isDirectory() ? await measureDirectory(below, runAs, signal) : found.blocks * BLOCK_BYTES;
      if (bytes === undefined) return undefined;
      total += bytes;
    }
    return total;
  } finally {
    await directory.close();
  }
}

async function measureAsUser(held: string, runAs: RunAs, signal: AbortSignal): Promise<number | undefined> {
  const { stdout } = await runTask(["measure"], { runAs, timeoutMs: LIMIT_MS, cwd: held, signal });
  const bytes = /^(\d+)$/.exec(stdout)?.[1];
  return bytes === undefined ? undefined : Number(bytes);
}
