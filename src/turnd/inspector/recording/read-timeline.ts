import * as z from "zod";
import { TimelineEntry } from "../../protocol/recordings.ts";

/** The part of an event that a timeline needs: another version of turnd may have written the rest. */
const EventHead = z.object({
  at: z.iso.datetime(),
  type: z.string(),
  native: z.object({ line: z.int().positive().optional(), source: z.literal("stderr").optional() }).optional(),
  data: z.unknown(),
});
const Warning = z.object({ code: z.string(), message: z.string() });

/** Events of turnd itself whose place matters; their content is in `turn.json`. */
const OWN: Readonly<Record<string, "started" | "degraded" | "ended">> = {
  "turn.started": "started",
  "session.degraded": "degraded",
  "turn.ended": "ended",
};

/** The entries of a timeline file, one a line. @throws {Error} for a line that is none */
export function readTimeline(text: string): TimelineEntry[] {
  return linesOf(text).map((line) => TimelineEntry.parse(JSON.parse(line)));
}

/** The entries that a turn's `events.jsonl` gives. @throws {Error} for a line that is no event */
export function timelineOfEvents(text: string): TimelineEntry[] {
  const entries: TimelineEntry[] = [];
  for (const line of linesOf(text)) {
    const { at, type, native, data } = EventHead.parse(JSON.parse(line));
    const own = OWN[type];
    const last = entries.at(-1);
    if (native?.line !== undefined) {
      // Most lines give one event; a line that gives more is counted once.
      const isSame = last?.type === "line" && last.line === native.line && last.source === native.source;
      const source = native.source === undefined ? {} : { source: native.source };
      if (!isSame) entries.push({ type: "line", at, ...source, line: native.line });
    } else if (type === "warning") {
      entries.push({ type, at, ...Warning.parse(data) });
    } else if (own !== undefined) {
      entries.push({ type: own, at });
    }
  }
  return entries;
}

function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}
