import { chmod, rmdir } from "node:fs/promises";
import { runUserTask, type User } from "./user-task.ts";

const MAX_REASON_CHARACTERS = 500;

/**
 * Removes a workspace with the rights of the user that wrote it: a link in it leads to nothing that this user could not remove.
 *
 * The directory itself stands in one of ours, so it cannot be another by now, and is removed by us when it is empty.
 * @throws when something in it cannot be removed; what could be is
 */
export async function removeWorkspace(path: string, owner: User | undefined, signal: AbortSignal): Promise<void> {
  if (await isGone(path)) return;
  // Nobody else opens what is our own.
  if (owner === undefined) await chmod(path, 0o700);
  const user = owner ?? { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
  const { answer, reason } = await runUserTask(["empty"], user, { cwd: path, signal });
  if (answer !== "exited 0") throw new Error(reason.slice(0, MAX_REASON_CHARACTERS) || `the helper: ${answer}`);
  await rmdir(path);
}

async function isGone(path: string): Promise<boolean> {
  return rmdir(path).then(
    () => true,
    (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT",
  );
}
