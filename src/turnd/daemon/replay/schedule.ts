import type { TimelineEntry } from "../../protocol/index.ts";

/**
 * How long a timeline takes to play, in milliseconds.
 *
 * Counted as a player waits: its clock begins with the first entry that has a time, and it waits for lines and for the
 * end.
 */
export function spanMs(timeline: readonly TimelineEntry[]): number {
  const first = timeline.find(({ type }) => type === "started" || isWaitedFor(type));
  if (first === undefined) return 0;
  const startMs = Date.parse(first.at);
  const times = timeline.map(({ type, at }) => (isWaitedFor(type) ? Date.parse(at) : startMs));
  return times.reduce((latest, time) => Math.max(latest, time), startMs) - startMs;
}

function isWaitedFor(type: TimelineEntry["type"]): boolean {
  return type === "line" || type === "ended";
}

/** When a line of stdout was printed, from the line itself, in milliseconds since 1970. */
export type ReadTime = (line: string) => number | undefined;

/**
 * Decides when each line is played: by the recording's timeline where that has times, otherwise by the records' own
 * times where they have some. Without either all lines are played at once.
 *
 * The order stays the same: without a timeline stdout comes before stderr.
 * @param readTime - absent for a CLI whose records have no time
 */
export function schedule(
  timeline: readonly TimelineEntry[] | undefined,
  stdout: Buffer,
  readTime: ReadTime | undefined,
): readonly TimelineEntry[] | undefined {
  if (readTime === undefined || (timeline !== undefined && spanMs(timeline) > 0)) return timeline;
  const times = readTimes(stdout, readTime);
  const first = times.find((time) => time !== undefined);
  if (first === undefined) return timeline;
  const entries = timeline ?? times.map((_, index): TimelineEntry => ({ type: "line", at: first, line: index + 1 }));
  let at = first;
  return entries.map((entry) => {
    if (entry.type === "line" && entry.source === undefined) at = times[entry.line - 1] ?? at;
    return { ...entry, at };
  });
}

/** The time of each line, as far as it has one. */
function readTimes(stdout: Buffer, readTime: ReadTime): (string | undefined)[] {
  const lines = stdout.toString("utf8").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => {
    const time = readTime(line);
    return time === undefined ? undefined : new Date(time).toISOString();
  });
}
