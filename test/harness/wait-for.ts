import { setTimeout as delay } from "node:timers/promises";

/** Waits for a fact. The limit is for a loaded machine: it says that something is broken, not that it is slow. */
export async function waitFor<T>(
  what: string,
  look: () => T | undefined | false | null | Promise<T | undefined | false | null>,
  limitMs = 60_000,
): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false && found !== null) return found;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${limitMs} ms`);
    await delay(10);
  }
}
