import { ProblemError } from "../protocol/index.ts";
import { delay } from "./delay.ts";
import { TurndUnreachable } from "./errors.ts";

/** How often, and how long, a call that is safe to repeat is repeated. */
export interface RetryOptions {
  /** Tries after the first; 3. With 0 each call asks once. */
  readonly retries?: number | undefined;
  /** Longest wait before a try; an answer that asks for more is thrown at once, with what it asks for; 30 s. */
  readonly longestWaitMs?: number | undefined;
}

const RETRIES = 3;
const LONGEST_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 200;

/** What passes by itself: a request that came too late, no place just now, turnd stopping, a front without its turnd. A full disk and a fault of turnd's do not. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/**
 * Asks until there is an answer, or no try is left. Only for what is safe to repeat.
 *
 * @throws the last fault, or the signal's reason
 */
export async function repeatedly<T>(
  { retries = RETRIES, longestWaitMs = LONGEST_WAIT_MS }: RetryOptions,
  signal: AbortSignal | undefined,
  ask: () => Promise<T>,
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      const askedMs = askedWaitMs(error);
      if (tries >= retries || askedMs === undefined || askedMs > longestWaitMs) throw error;
      // Many clients that were refused at once must not come back at once.
      const ownMs = FIRST_WAIT_MS * 2 ** tries * (0.5 + Math.random() / 2);
      await delay(Math.min(longestWaitMs, Math.max(askedMs, ownMs)), signal);
    }
  }
}

/** How long a fault asks to wait; undefined for one that does not pass. */
function askedWaitMs(error: unknown): number | undefined {
  if (error instanceof TurndUnreachable) return error.retryAfterMs ?? 0;
  if (!(error instanceof ProblemError) || !PASSING.has(error.status)) return undefined;
  return (error.retryAfterSeconds ?? 0) * 1_000;
}
