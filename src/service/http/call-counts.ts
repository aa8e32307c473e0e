/** Keys that are kept; beyond it the one that called least recently is dropped. */
const MOST_KEYS = 5_000;

type Callback = (error: Error | null, result?: { current: number; ttl: number }) => void;

/**
 * Counts calls in windows that begin with a key's first call, by the monotonic clock: by the time of day, a limit that was
 * reached before the clock went back would hold until it has caught up. A store of `@fastify/rate-limit`.
 */
export class CallCounts {
  readonly #windows = new Map<string, { count: number; beganAt: number }>();

  incr(key: string, callback: Callback, windowMs: number): void {
    const window = this.#current(key, windowMs) ?? { count: 0, beganAt: performance.now() };
    window.count += 1;
    this.#windows.delete(key);
    this.#windows.set(key, window);
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > MOST_KEYS && oldest !== undefined) this.#windows.delete(oldest);
    callback(null, { current: window.count, ttl: window.beganAt + windowMs - performance.now() });
  }

  child(): CallCounts {
    return new CallCounts();
  }

  #current(key: string, windowMs: number): { count: number; beganAt: number } | undefined {
    const window = this.#windows.get(key);
    return window === undefined || window.beganAt + windowMs <= performance.now() ? undefined : window;
  }
}
