import { lookUp, type Tolerant } from "../../protocol/newer-words.ts";
import type { TimelineEntry } from "../../protocol/recordings.ts";
import type { ShownEvent } from "../events/shown-event.ts";

/** When an event happened, in milliseconds from the turn's first. */
export interface Moment {
  readonly seq: number;
  readonly ms: number;
}

/**
 * When each event happened.
 *
 * @param timeline - of a recording: events of lines have the times at which those lines were taken then. An event that no entry
 * covers has the time of the one before it
 */
export function placesInTime(
  events: readonly ShownEvent[],
  timeline: readonly Tolerant<TimelineEntry>[] | undefined,
): readonly Moment[] {
  const times = timeline === undefined || timeline.length === 0 ? ownTimes(events) : recordedTimes(events, timeline);
  const first = times[0] ?? 0;
  let latest = 0;
  return events.map(({ seq }, index) => {
    // A clock that was set back must not lead backwards.
    latest = Math.max(latest, (times[index] ?? first) - first);
    return { seq, ms: latest };
  });
}

/** The last event that had happened at a moment. */
export function seqAt(moments: readonly Moment[], ms: number): number {
  return moments.findLast((moment) => moment.ms <= ms)?.seq ?? moments[0]?.seq ?? 0;
}

function ownTimes(events: readonly ShownEvent[]): number[] {
  let last = 0;
  return events.map(({ at }) => {
    const ms = at === undefined ? Number.NaN : Date.parse(at);
    last = Number.isNaN(ms) ? last : ms;
    return last;
  });
}

function recordedTimes(events: readonly ShownEvent[], timeline: readonly Tolerant<TimelineEntry>[]): number[] {
  /** An entry covers its line and all before it that no other covers. */
  const taken = { stdout: [] as { line: number; ms: number }[], stderr: [] as { line: number; ms: number }[] };
  for (const entry of timeline) {
    if (entry.type !== "line") continue;
    const { source = "stdout", line, at } = entry;
    lookUp(taken, source)?.push({ line, ms: Date.parse(at) });
  }
  const start = Date.parse(timeline[0]?.at ?? "");
  const end = Date.parse(timeline.at(-1)?.at ?? "");
  const next = { stdout: 0, stderr: 0 };
  let last = Number.isNaN(start) ? 0 : start;
  return events.map(({ native, type }) => {
    if (type === "turn.ended" && !Number.isNaN(end)) return end;
    if (native === undefined) return last;
    const source = native.source ?? "stdout";
    const lines = taken[source];
    while (next[source] < lines.length && (lines[next[source]]?.line ?? Infinity) < native.line) next[source] += 1;
    last = lines[next[source]]?.ms ?? last;
    return last;
  });
}
