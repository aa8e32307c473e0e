import { realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RunAs } from "../run-as.ts";
import { runTask } from "../run-tool.ts";

const TIMEOUT_MS = 10_000;

/**
 * Finds the directory on the way to a path that its user may not enter; what does not exist yet is left out.
 *
 * The modes answer for nearly every path. Where they forbid it, the user itself is asked: access lists may allow more.
 * @returns its path and mode, for a message; undefined where the user may enter all of them, or is turnd's own
 */
export async function findClosed(path: string, runAs: RunAs): Promise<string | undefined> {
  if (runAs.isSelf) return undefined;
  const existing = await findExisting(path);
  for (const directory of [...parentsOf(existing), existing]) {
    const { uid, gid, mode } = await stat(directory);
    const bits = uid === runAs.uid ? mode >> 6 : gid === runAs.gid ? mode >> 3 : mode;
    if ((bits & 1) === 1) continue;
    const { code } = await runTask(["enterable", directory], { runAs, timeoutMs: TIMEOUT_MS });
    if (code !== 0) return `${directory} (mode ${(mode & 0o7777).toString(8)})`;
  }
  return undefined;
}

async function findExisting(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    // Not there yet, or cannot be looked at: then its parent is where it ends.
    return path === "/" ? path : findExisting(dirname(path));
  }
}

function parentsOf(path: string): string[] {
  const names = path.split("/").filter(Boolean).slice(0, -1);
  return names.map((_, index) => join("/", ...names.slice(0, index + 1)));
}
