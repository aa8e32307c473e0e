import { backoffMs } from "../../kit/retry/backoff.ts";
import { readStatus } from "../../kit/retry/passing-status.ts";
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
      const ownMs = backoffMs({ firstMs: FIRST_WAIT_MS, longestMs: longestWaitMs }, tries);
      await delay(Math.min(longestWaitMs, Math.max(askedMs, ownMs)), signal);
    }
  }
}

/** The wait that a fault asks for; undefined for one that is not temporary. */
function askedWaitMs(error: unknown): number | undefined {
  if (error instanceof TurndUnreachable) return error.retryAfterMs ?? 0;
  if (!(error instanceof ProblemError)) return undefined;
  // A fault of turnd's own would most likely come again: the caller gets it at once.
  const meaning = readStatus(error.status);
  if (meaning !== "busy" && meaning !== "gateway") return undefined;
  return (error.retryAfterSeconds ?? 0) * 1_000;
}
