import { lstat, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import type { RunAs } from "../run-as.ts";

const GROUP_OR_OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/**
 * Resolves the path of a directory, if the CLIs' user can change no part of it.
 *
 * What only turnd can change stays the same between two calls: below such a directory a path may be used by name. Use
 * the returned path, not the given one, which may go through a link of that user.
 * @returns the path without links; undefined where that user owns or can write a directory on it, or it is not there.
 * A sticky directory counts as protected: no user can rename another user's files there
 */
export async function resolveProtectedPath(path: string, { uid }: Pick<RunAs, "uid">): Promise<string | undefined> {
  const resolved = await realpath(path).catch(() => undefined);
  if (resolved === undefined) return undefined;
  for (let directory = resolved; ; directory = dirname(directory)) {
    const found = await lstat(directory).catch(() => undefined);
    if (found === undefined || found.isSymbolicLink() || found.uid === uid) return undefined;
    if ((found.mode & GROUP_OR_OTHERS_WRITE) !== 0 && (found.mode & STICKY) === 0) return undefined;
    if (dirname(directory) === directory) return resolved;
  }
}
