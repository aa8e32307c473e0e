/** The waits between tries: each twice as long as the one before, up to the longest. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * The wait before the next try: by up to half shorter than its due, by chance, so that many callers that failed at once do
 * not come back at once.
 *
 * @param failures - tries that have failed before the last one; 0 after the first failure
 */
export function backoffMs({ firstMs, longestMs }: Backoff, failures: number): number {
  return Math.min(longestMs, firstMs * 2 ** failures) * (0.5 + Math.random() / 2);
}
