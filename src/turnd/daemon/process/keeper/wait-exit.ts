import { join } from "node:path";
import { watchIfPossible } from "../output/change-notices.ts";
import { createKeeperDeadline, type KeeperDeadline } from "./keeper-deadline.ts";
import { isKeeperAlive, readExit, type StartedProcess } from "./keeper.ts";
import { isCliRunning } from "./tree.ts";

/** How a kept command ended. */
export interface KeptExit {
  readonly code: number | null;
  readonly signal: string | null;
}

const POLL_MS = 250;
/** At the poll's pace, before a living keeper is ended. */
const LEAST_LOOKS = 20;

/**
 * Waits for a kept command to end.
 *
 * @param signal - ends the wait
 * @returns null when its exit is not recorded: the keeper is gone too, cannot write, or has not reacted for long
 */
export async function waitForExit(
  directory: string,
  started: StartedProcess,
  signal: AbortSignal,
): Promise<KeptExit | null> {
  let wake: () => void = () => {};
  // The keeper makes it with the start, and renames it. What is written beside it wakes no one: the turn's own log is.
  const unwatch = watchIfPossible(join(directory, "exit.json.new"), (event) => {
    if (event === "rename") wake();
  });
  try {
    let keeperDeadline: KeeperDeadline | undefined;
    while (!signal.aborted) {
      const notice = new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_MS);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      const isRunning = isCliRunning(started);
      const exit = await readExit(directory);
      if (exit !== undefined) return exit;
      if (!isRunning) {
        keeperDeadline ??= createKeeperDeadline(started.keeperPid, LEAST_LOOKS);
        if (keeperDeadline.isOver() || !(await isKeeperAlive(directory))) {
          // The keeper may have written it between the two checks.
          return (await readExit(directory)) ?? null;
        }
      }
      await notice;
    }
    return null;
  } finally {
    wake();
    unwatch();
  }
}
