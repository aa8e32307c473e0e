import { setTimeout as delay } from "node:timers/promises";

/** At most so much later than it is there a fact is seen, and no more than a tenth of what it took. */
const LONGEST_PAUSE_MS = 50;

/** Waits for a fact. The limit is for a loaded machine: it says that something is broken, not that it is slow. */
export async function waitFor<T>(
  what: string,
  look: () => T | undefined | false | null | Promise<T | undefined | false | null>,
  limitMs = 60_000,
): Promise<T> {
  const start = performance.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false && found !== null) return found;
    const waitedMs = performance.now() - start;
    if (waitedMs > limitMs) throw new Error(`${what}: not within ${limitMs} ms`);
    // To look costs, at all processes above all, and what is waited for runs on the same cores.
    await delay(Math.min(LONGEST_PAUSE_MS, Math.max(10, waitedMs / 10)));
  }
}
