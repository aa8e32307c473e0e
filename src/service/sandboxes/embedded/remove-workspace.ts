import { spawn } from "node:child_process";
import { chmod, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { Socket } from "node:net";
import { text } from "node:stream/consumers";

const HELPER = join(import.meta.dirname, "../../../../sandbox/helper");
const MAX_REASON_CHARACTERS = 500;

/**
 * Removes a workspace with the rights of the user that wrote it: a link in it leads to nothing that this user could not remove.
 *
 * No program is started as that user: a tool could trace it, and what it made of it would outlive every turn. Law: nothing
 * outlives its turn. The directory itself stands in one of ours, so it cannot be another by now, and is removed by us when it
 * is empty.
 * @throws when something in it cannot be removed; what could be is
 * @see `sandbox/helper`, the task `empty`
 */
export async function removeWorkspace(
  path: string,
  owner: { readonly uid: number; readonly gid: number } | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (await isGone(path)) return;
  // Nobody else opens what is our own.
  if (owner === undefined) await chmod(path, 0o700);
  await emptyAs(owner ?? { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 }, path, signal);
  await rmdir(path);
}

async function emptyAs({ uid, gid }: { uid: number; gid: number }, cwd: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  // A session of its own: no signal of the terminal ends the helper before what it has to end.
  const helper = spawn("/usr/bin/perl", [HELPER, String(uid), String(gid), "empty"], {
    cwd,
    env: {},
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  const socket = helper.stdio[3];
  if (!(socket instanceof Socket) || helper.stderr === null) throw new Error("the helper has no socket");
  const ended = new Promise<void>((resolve, reject) => helper.once("error", reject).once("close", () => resolve()));
  const end = (): void => void socket.destroy();
  signal.addEventListener("abort", end, { once: true });
  try {
    const [answer, reason] = await Promise.all([text(socket), text(helper.stderr), ended]);
    if (answer !== "exited 0") throw new Error(reason.slice(0, MAX_REASON_CHARACTERS) || `the helper: ${answer}`);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

async function isGone(path: string): Promise<boolean> {
  return rmdir(path).then(
    () => true,
    (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT",
  );
}
