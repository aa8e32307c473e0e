import type { Stats } from "node:fs";
import { lstat, rmdir } from "node:fs/promises";

/** Removes an empty directory; none there is fine. */
export async function rmdirIfThere(path: string): Promise<void> {
  await rmdir(path).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
}

/** Whether there is an entry of any kind. */
export async function isThere(path: string): Promise<boolean> {
  return (await lstatIfThere(path)) !== undefined;
}

/** Whether there is a directory; a link to one is none. */
export async function isDirectory(path: string): Promise<boolean> {
  return (await lstatIfThere(path))?.isDirectory() === true;
}

async function lstatIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Whether a system call failed because there is no such entry. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
