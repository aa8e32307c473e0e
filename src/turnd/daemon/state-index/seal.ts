import { lstatSync, readFileSync, rmSync, writeFileSync } from "node:fs";

// A file beside the index that says how turnd left it. A restored, cut or edited index, and one that was copied together with
// another one's log, may be whole for SQLite and lack requests that have run. Law: at most once.

/** What recognises a file as it is now: whatever writes to it changes the time, which no program can set. @see inode(7) */
function stateOf(path: string): string {
  const { ino, ctimeNs, size } = lstatSync(path, { bigint: true });
  return `${ino}:${ctimeNs}:${size}`;
}

/** Where the seal of an index is. */
export function sealPath(path: string): string {
  return `${path}-seal`;
}

/** Notes how an index is that has just been closed. Without it, the next start reads all of it through. Never throws. */
export function seal(path: string): void {
  try {
    writeFileSync(sealPath(path), stateOf(path), { mode: 0o600 });
  } catch {
    // A seal that is not whole would be another index's.
    rmSync(sealPath(path), { force: true });
  }
}

/** Takes the seal away, before the index is used. @returns whether it was as turnd had closed it; undefined where there was none */
export function breakSeal(path: string): boolean | undefined {
  if (lstatSync(sealPath(path), { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  const isWhole = readFileSync(sealPath(path), "utf8") === stateOf(path) && !isThere(`${path}-wal`);
  rmSync(sealPath(path));
  return isWhole;
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
