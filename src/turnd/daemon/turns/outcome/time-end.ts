/** When a turn ended, and how long it ran. */
export interface EndTime {
  readonly at: string;
  readonly durationMs: number;
}

/**
 * Dates a turn's end: it is never before its start, and how long it ran does not change with the clock.
 *
 * @param ranMs - since its start, by a clock that nobody sets; undefined where there is none: then only the clock tells
 */
export function timeEnd(known: {
  readonly startedAt: string;
  readonly ranMs: number | undefined;
  readonly now: Date;
}): EndTime {
  const startMs = Date.parse(known.startedAt);
  const nowMs = known.now.getTime();
  const durationMs = Math.round(known.ranMs ?? Math.max(0, nowMs - startMs));
  const endMs = nowMs < startMs ? startMs + durationMs : nowMs;
  return { at: new Date(endMs).toISOString(), durationMs };
}
