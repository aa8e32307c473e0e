/**
 * How long an answer asks to wait before the next try: seconds or a date.
 *
 * A date counts from the answer's own `Date`, so that two clocks that differ, or one that was set back, do not matter.
 * @returns milliseconds; undefined where nothing, or nothing that can be read, is asked
 * @see RFC 9110, 10.2.3
 */
export function readRetryAfter(headers: { get(name: string): string | null }): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  // A negative or broken number; `Date.parse` would take it for a year.
  if (!/^[A-Za-z]{3}/.test(value)) return undefined;
  const at = Date.parse(value);
  const sentAt = Date.parse(headers.get("date") ?? "");
  const waitMs = at - (Number.isNaN(sentAt) ? Date.now() : sentAt);
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}
