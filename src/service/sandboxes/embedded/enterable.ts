import { spawnSync } from "node:child_process";
import { dirname } from "node:path";

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The directory above a path, or the path itself, that a user cannot enter; undefined where the whole way is open.
 *
 * Directories that are not there yet are left out: what makes them gives them a mode.
 * @see setpriv(1); the kernel answers, so that access control lists and mounts count too
 */
export function findClosedDirectory(path: string, user: User): string | undefined {
  const way: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    way.unshift(at);
    if (at === dirname(at)) break;
  }
  // From the root down, so that the outermost closed one is named; nothing is closed where the last can be entered.
  const isThere = way.filter((directory) => spawnSync("/usr/bin/test", ["-d", directory]).status === 0);
  const last = isThere.at(-1);
  if (last === undefined || canEnter(last, user)) return undefined;
  return isThere.find((directory) => !canEnter(directory, user));
}

function canEnter(directory: string, { uid, gid }: User): boolean {
  const as = ["--reuid", String(uid), "--regid", String(gid), "--clear-groups", "--inh-caps=-all"];
  const { status, error } = spawnSync("/usr/bin/setpriv", [...as, "/usr/bin/test", "-x", directory], {
    stdio: "ignore",
  });
  if (error !== undefined) throw error;
  return status === 0;
}
