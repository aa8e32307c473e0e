/**
 * Tells how far a run is and how long the rest takes at the speed so far.
 *
 * @param done - entries that are begun, counted from 1
 */
export function describeProgress(done: number, all: number, startedAtMs: number, nowMs: number): string {
  const count = `${done} of ${all}`;
  // The first ones are too few to tell.
  if (done <= 5) return count;
  const minutes = (((nowMs - startedAtMs) / (done - 1)) * (all - done + 1)) / 60_000;
  return `${count}, ${minutes < 1 ? "less than a minute" : `about ${Math.round(minutes)} min`} left`;
}
