/** Where a short step on the disk is done: in turnd's own thread, where every stream waits for it, or in another one. */
export interface DiskPace {
  /**
   * Does a step here while the disk is quick, and there while it is not.
   *
   * @param here - ends at once; what it throws is thrown
   */
  step<T>(here: () => T, there: () => Promise<T>): T | Promise<T>;
  /** Does a step here while the disk is quick. @returns false where it is not, and nothing is done */
  tryHere(here: () => void): boolean;
}

/** A local disk takes a hundredth of it for a new file. Each step that takes longer holds up all turns. */
const SLOW_MS = 5;
const FIRST_WARY_MS = 10_000;
const MAX_WARY_MS = 600_000;

/**
 * Makes the pace of a disk. After one slow step all of them are done in another thread for a while: for longer each time,
 * where the disk is still slow when it is tried again. So a disk that answers slowly, such as over a network, holds up the
 * streams of all turns by one step a time, and by a few an hour.
 *
 * @param now - milliseconds of a clock that is never set back
 */
export function createDiskPace(now: () => number = () => performance.now()): DiskPace {
  let [waryUntil, waryMs] = [-Infinity, FIRST_WARY_MS];

  function noteSlow(): void {
    const isStillSlow = now() < waryUntil + waryMs;
    waryMs = isStillSlow ? Math.min(2 * waryMs, MAX_WARY_MS) : FIRST_WARY_MS;
    waryUntil = now() + waryMs;
  }

  function timed<T>(here: () => T): T {
    const begunAt = now();
    try {
      return here();
    } finally {
      if (now() - begunAt > SLOW_MS) noteSlow();
    }
  }
  const isQuick = (): boolean => now() >= waryUntil;

  return {
    step: (here, there) => (isQuick() ? timed(here) : there()),
    tryHere(here) {
      if (!isQuick()) return false;
      timed(here);
      return true;
    },
  };
}

/** The disk of the state directory. */
export const stateDisk = createDiskPace();
