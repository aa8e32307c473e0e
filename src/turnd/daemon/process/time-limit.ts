/** A signal that aborts when a time is over, or with another signal. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Has to be called when what is limited has ended. */
  release(): void;
}

/**
 * Starts a time limit. It keeps no process alive.
 *
 * Node keeps what `AbortSignal.timeout` makes, once anyone has listened to it, until its time is over, and what
 * `AbortSignal.any` makes of it, once it has aborted, for ever.
 */
export function startTimeLimit(ms: number, signal?: AbortSignal): TimeLimit {
  const limit = new AbortController();
  const timer = setTimeout(() => {
    limit.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  }, ms);
  timer.unref();
  const follow = (): void => limit.abort(signal?.reason);
  if (signal?.aborted === true) follow();
  else signal?.addEventListener("abort", follow, { once: true });
  return {
    signal: limit.signal,
    release() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", follow);
    },
  };
}
