import { lstatSync } from "node:fs";

/**
 * What a file or directory is recognised by: any change of its content, owner, mode or entries gives another key.
 *
 * The time of a change cannot be set by a program. A link has a key of its own. @see inode(7)
 * @returns the keys of all paths as one text; a missing one, and one that cannot be looked at, has one too
 */
export function keyOf(paths: readonly string[]): string {
  return paths.map(keyOfOne).join(" ");
}

/** What recognises a directory, and how many directories are in it; undefined where its file system does not count them. */
export function lookAtDirectory(path: string): { readonly key: string; readonly directories: number | undefined } {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return { key: "-", directories: undefined };
  // Itself, its own entry for itself, and the entry of each for its parent. @see stat(2), inode(7)
  const directories = stats.nlink < 2n ? undefined : Number(stats.nlink) - 2;
  return { key: `${stats.ino}:${stats.ctimeNs}`, directories };
}

function keyOfOne(path: string): string {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? "-" : `${stats.ino}:${stats.ctimeNs}`;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "?";
  }
}
