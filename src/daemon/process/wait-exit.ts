import { watchIfPossible } from "./change-notices.ts";
import { isKeeperAlive, readExit } from "./keeper.ts";
import { isCliRunning } from "./tree.ts";
import type { Started } from "./keeper.ts";

/** How a kept command ended. */
export interface KeptExit {
  readonly code: number | null;
  readonly signal: string | null;
}

const POLL_MS = 250;
/** How long a living keeper may take to write `exit.json` once its command is gone; a full disk may keep it from it. */
const UNWRITTEN_MS = 5_000;

/**
 * Waits for a kept command to end.
 *
 * @param signal - gives the wait up
 * @returns null when nobody wrote down how: the keeper is gone too, or cannot write
 */
export async function waitForExit(directory: string, started: Started, signal: AbortSignal): Promise<KeptExit | null> {
  let wake: () => void = () => {};
  const unwatch = watchIfPossible(directory, (name) => {
    if (name === "exit.json") wake();
  });
  try {
    let goneSince: number | undefined;
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
        goneSince ??= Date.now();
        if (Date.now() - goneSince > UNWRITTEN_MS || !(await isKeeperAlive(directory))) {
          // The keeper may have written it between the two looks.
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
