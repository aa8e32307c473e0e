import type { ChildProcess } from "node:child_process";
import type { Exit } from "../../src/turnd/protocol/index.ts";

/** A signal ended the recording of a run: nothing of it is to be kept. */
export class Interrupted extends Error {
  constructor() {
    super("interrupted");
    this.name = "Interrupted";
  }
}

const running = new Set<ChildProcess>();
let isInterrupted = false;

/**
 * Waits for a CLI that is recorded. SIGINT or SIGTERM ends it first, since one whose provider is gone may ask again for ever.
 *
 * @throws {Interrupted} after such a signal, when the CLI is gone
 */
export async function awaitExit(child: ChildProcess): Promise<Exit> {
  if (process.listenerCount("SIGTERM", interrupt) === 0) {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, interrupt);
  }
  running.add(child);
  const exit = await new Promise<Exit>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve({ code, signal }));
    // It was started after the signal came.
    if (isInterrupted) child.kill("SIGKILL");
  }).finally(() => running.delete(child));
  if (isInterrupted) throw new Interrupted();
  return exit;
}

/**
 * The command line of a CLI that ends with this process, however that ends: one whose provider is gone may ask again for ever.
 * The system forgets the signal when the user changes, so a `setpriv` that changes it sets it too.
 */
export function endingWithParent(command: readonly string[]): [string, ...string[]] {
  const [first = "", ...rest] = command;
  const signal = ["--pdeathsig", "KILL"];
  return first.endsWith("setpriv") ? [first, ...signal, ...rest] : ["/usr/bin/setpriv", ...signal, "--", ...command];
}

/** The exit code of a recording that was interrupted; anything else that was thrown is thrown on. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Interrupted) return 130;
  throw error;
}

function interrupt(): void {
  isInterrupted = true;
  for (const child of running) child.kill("SIGKILL");
}
