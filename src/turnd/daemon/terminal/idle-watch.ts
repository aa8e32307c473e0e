/** Detects that nothing has happened for a time. */
export interface IdleWatch {
  /** Something happened. */
  touch(): void;
  lastActiveAt(): Date;
  stop(): void;
}

/**
 * Watches for idleness.
 *
 * @param idleMs - 0 never calls
 * @param isWatched - while true, nothing is idle; the caller calls `touch` when it ends
 */
export function createIdleWatch(idleMs: number, isWatched: () => boolean, onIdle: () => void): IdleWatch {
  let last = performance.now();
  let timer = idleMs === 0 ? undefined : setTimeout(look, idleMs);

  function look(): void {
    const quietMs = isWatched() ? 0 : performance.now() - last;
    if (quietMs >= idleMs) onIdle();
    else timer = setTimeout(look, Math.ceil(idleMs - quietMs));
  }

  return {
    touch() {
      last = performance.now();
    },
    lastActiveAt: () => new Date(Date.now() - Math.round(performance.now() - last)),
    stop: () => clearTimeout(timer),
  };
}
