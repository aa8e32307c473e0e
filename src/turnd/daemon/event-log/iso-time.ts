/**
 * Makes a clock that tells the time as ISO 8601, UTC, with milliseconds, as `Date.prototype.toISOString` does.
 *
 * All but the milliseconds is put together once a second: each event of a turn has its time, and to make it anew takes longer
 * than to write the line.
 * @param now - milliseconds since the epoch
 */
export function createIsoTime(now: () => number): () => string {
  let second = NaN;
  let prefix = "";
  return () => {
    const time = now();
    const ms = ((time % 1000) + 1000) % 1000;
    if (time - ms !== second) {
      second = time - ms;
      prefix = new Date(second).toISOString().slice(0, -"000Z".length);
    }
    return `${prefix}${ms < 10 ? "00" : ms < 100 ? "0" : ""}${ms}Z`;
  };
}
