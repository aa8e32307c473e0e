import { chmod, lchown, lstat, mkdir, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { resolveProtectedPath } from "./protected-path.ts";
import type { RunAs } from "../run-as.ts";
import { runTask } from "../run-tool.ts";

const TIMEOUT_MS = 30_000;

/**
 * Makes a directory that belongs to the CLIs' user, or uses an existing one. Its parent must exist.
 *
 * Root gives away only an empty directory that it has just made in a place where that user can rename nothing.
 * Anywhere else that user makes it.
 * @param mode - for the new directory
 * @throws the system's error, or one with what that user's process reported
 */
export async function makeUserDirectory(path: string, runAs: RunAs, mode = 0o700): Promise<void> {
  const parent = runAs.isSelf ? dirname(path) : await resolveProtectedPath(dirname(path), runAs);
  if (parent === undefined) return makeAsUser(path, runAs, mode);
  const own = join(parent, basename(path));
  if (await isMade(own, runAs)) return;
  await mkdir(own, { mode });
  // Whatever the umask, and before that user may put something in its place.
  await chmod(own, mode);
  if (!runAs.isSelf) await lchown(own, runAs.uid, runAs.gid);
}

/** Removes what an interrupted attempt left, which succeeds only where it is empty. */
async function isMade(path: string, { uid }: RunAs): Promise<boolean> {
  const found = await lstat(path).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return false;
  if (found.isDirectory() && found.uid === uid) return true;
  await rmdir(path);
  return false;
}

async function makeAsUser(path: string, runAs: RunAs, mode: number): Promise<void> {
  const { code, stderr } = await runTask(["make", mode.toString(8), path], { runAs, timeoutMs: TIMEOUT_MS });
  if (code !== 0) throw new Error(`${path} cannot be made by uid ${runAs.uid}: ${stderr || `exit code ${code}`}`);
}
