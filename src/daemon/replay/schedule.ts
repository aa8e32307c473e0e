import { z } from "zod";
import type { TimelineEntry } from "../../protocol/index.ts";

/**
 * How long a timeline takes to be played, in milliseconds.
 *
 * As a player waits: its clock begins with the first entry that can start it, and it waits for lines and for the end.
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

/**
 * Says when each line is to be played: by the recording's timeline where it tells of times, else by the records' own
 * timestamps where they have them. Without either all comes at once.
 *
 * The order stays what it was: without a timeline stdout comes before stderr.
 */
export function schedule(
  timeline: readonly TimelineEntry[] | undefined,
  stdout: Buffer,
): readonly TimelineEntry[] | undefined {
  if (timeline !== undefined && spanMs(timeline) > 0) return timeline;
  const times = readRecordTimes(stdout);
  const first = times.find((time) => time !== undefined);
  if (first === undefined) return timeline;
  const entries = timeline ?? times.map((_, index): TimelineEntry => ({ type: "line", at: first, line: index + 1 }));
  let at = first;
  return entries.map((entry) => {
    if (entry.type === "line" && entry.source === undefined) at = times[entry.line - 1] ?? at;
    return { ...entry, at };
  });
}

/** CLI A's records have a time of their own, in milliseconds; CLI B's have none. Source: contracts/cli-a.md section 1. */
const TimedRecord = z.object({ timestamp: z.number().nonnegative().max(Date.UTC(9999, 0)) });

/** The time of each line, as far as it has one. */
function readRecordTimes(stdout: Buffer): (string | undefined)[] {
  const lines = stdout.toString("utf8").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => {
    const timed = TimedRecord.safeParse(parse(line));
    return timed.success ? new Date(timed.data.timestamp).toISOString() : undefined;
  });
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // Lines need not be JSON; those have no time.
    return undefined;
  }
}
