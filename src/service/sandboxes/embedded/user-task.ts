import { spawn } from "node:child_process";
import { join } from "node:path";
import { Socket } from "node:net";
import { text } from "node:stream/consumers";

/** Who the CLIs run as. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

export interface UserTaskOptions {
  readonly cwd?: string;
  /** Ends the task, with all that has come of it. */
  readonly signal?: AbortSignal;
}

const HELPER = join(import.meta.dirname, "../../../../sandbox/helper");

/**
 * Has one thing done with the rights of a user, and waits until nothing of it is left.
 *
 * No program is started as that user: a tool could trace it, and what it made of it would outlive every turn. Law: nothing
 * outlives its turn.
 * @returns what the helper answers, `exited 0` for success, and what the task has said of a fault
 * @throws where there is no helper; the signal's reason, once it has aborted
 * @see `sandbox/helper` for its tasks
 */
export async function runUserTask(
  task: readonly string[],
  { uid, gid }: User,
  { cwd = "/", signal }: UserTaskOptions = {},
): Promise<{ readonly answer: string; readonly reason: string }> {
  signal?.throwIfAborted();
  // A session of its own: no signal of the terminal ends the helper before what it has to end.
  const helper = spawn("/usr/bin/perl", [HELPER, String(uid), String(gid), ...task], {
    cwd,
    env: {},
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  const socket = helper.stdio[3];
  if (!(socket instanceof Socket) || helper.stderr === null) throw new Error("the helper has no socket");
  const ended = new Promise<void>((resolve, reject) => helper.once("error", reject).once("close", () => resolve()));
  const end = (): void => void socket.destroy();
  signal?.addEventListener("abort", end, { once: true });
  try {
    const said = Promise.all([text(socket), text(helper.stderr)]);
    said.catch(() => undefined);
    await ended;
    signal?.throwIfAborted();
    const [answer, reason] = await said;
    return { answer, reason };
  } finally {
    signal?.removeEventListener("abort", end);
  }
}
