import { stat } from "node:fs/promises";
import { dirname } from "node:path";

/** Workspaces that were found usable a moment ago. To ask again takes a process each, and a session's turns ask for the same one. */
export interface KnownWorkspaces {
  /** What the system decides by whether a directory can be used: it, and each directory on the way to it. */
  look(path: string): Promise<string>;
  /** Whether it was usable, and looks as it did then. */
  isUsable(path: string, look: string): boolean;
  noteUsable(path: string, look: string): void;
}

/** A mount that becomes read-only, or another ACL, does not show: a turn that starts meanwhile fails by itself. */
const KNOWN_MS = 10_000;
const MAX_KNOWN = 100;

/** @param now - milliseconds of a clock that is never set back */
export function createKnownWorkspaces(now: () => number = () => performance.now()): KnownWorkspaces {
  const known = new Map<string, { readonly look: string; readonly at: number }>();
  return {
    async look(path) {
      const found = await Promise.all(onTheWayTo(path).map((directory) => stat(directory)));
      // Not its ctime, which changes with every entry that is made there.
      return found.map(({ dev, ino, mode, uid, gid }) => [dev, ino, mode, uid, gid].join(" ")).join("\n");
    },
    isUsable(path, look) {
      const last = known.get(path);
      return last !== undefined && last.look === look && now() - last.at < KNOWN_MS;
    },
    noteUsable(path, look) {
      known.delete(path);
      known.set(path, { look, at: now() });
      for (const oldest of known.keys()) if (known.size > MAX_KNOWN) known.delete(oldest);
    },
  };
}

function onTheWayTo(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [...onTheWayTo(parent), path];
}
