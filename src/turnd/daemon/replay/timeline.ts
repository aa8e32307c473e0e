import { stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { defined } from "../../../kit/defined.ts";
import { Native, TimelineEntry } from "../../protocol/index.ts";
import { readEvents } from "../event-log/read-events.ts";
import { splitLine } from "../event-log/split-line.ts";
import { describeIssues, RecordingError } from "./recording-error.ts";

/** What happened in a recorded turn, in order; read again on each call. */
export type Timeline = () => AsyncIterable<TimelineEntry>;

/** The timeline of a recording that came as a document: one entry per line. */
export const TIMELINE_FILE = "timeline.jsonl";

/**
 * Finds where a directory's timeline can be read: in its events, or in what came with a document.
 *
 * @param isPlayed - it is a replay that has come to its end: its recording's times count, not its own
 * @returns undefined when it has neither
 */
export async function readTimeline(
  directory: string,
  { isPlayed = false }: { readonly isPlayed?: boolean } = {},
): Promise<Timeline | undefined> {
  const [events, entries] = [join(directory, "events.jsonl"), join(directory, TIMELINE_FILE)];
  if (isPlayed && (await hasContent(entries))) return () => fromEntries(entries);
  if (await hasContent(events)) return () => fromEvents(events);
  return (await hasContent(entries)) ? () => fromEntries(entries) : undefined;
}

/** The entries of a timeline file. */
export async function* fromEntries(path: string): AsyncGenerator<TimelineEntry> {
  for await (const { seq, text } of readLines(path)) yield check(TimelineEntry, text, `${path}:${seq}`);
}

/**
 * Joins lines of one file that follow each other, for files that are complete: the order stays the same, events of
 * turnd itself stay between them, and a batch of lines costs little more than one line.
 */
export async function* inRuns(entries: AsyncIterable<TimelineEntry>): AsyncGenerator<TimelineEntry> {
  let run: Line | undefined;
  for await (const entry of entries) {
    const isNext = entry.type === "line" && entry.source === run?.source;
    if (run !== undefined && !isNext) yield run;
    if (entry.type !== "line") yield entry;
    run = entry.type !== "line" ? undefined : run !== undefined && isNext && run.line > entry.line ? run : entry;
  }
  if (run !== undefined) yield run;
}

type Line = Extract<TimelineEntry, { type: "line" }>;

/** The part of an event that a timeline needs: other versions of turnd may have written the rest. */
const Head = z.object({ at: z.iso.datetime(), type: z.string(), native: Native.partial({ line: true }).optional() });
const Warning = z.object({ data: z.object({ code: z.string(), message: z.string() }) });

/** The entries that a log of events gives; it may be empty. */
export async function* fromEvents(path: string): AsyncGenerator<TimelineEntry> {
  let last: Line | undefined;
  for await (const { seq, text } of readLines(path)) {
    const { at, type, native } = readHead(text, `${path}:${seq}`);
    const line = native?.line;
    if (line !== undefined) {
      const source = native?.source;
      // Most lines give one event; a line that gives more is counted once.
      if (last?.line === line && last.source === source) continue;
      last = { type: "line", at, ...defined({ source }), line };
      yield last;
    } else if (type === "warning") {
      yield { type, at, ...check(Warning, text, `${path}:${seq}`).data };
    } else {
      const own = OWN[type];
      if (own !== undefined) yield { type: own, at };
    }
  }
}

/** Events of turnd itself whose place matters; their content is in `turn.json`. */
const OWN: Readonly<Record<string, "started" | "degraded" | "ended">> = {
  "turn.started": "started",
  "session.degraded": "degraded",
  "turn.ended": "ended",
};

function readHead(text: string, where: string): z.output<typeof Head> {
  return Head.safeParse(splitLine(text)?.head).data ?? check(Head, text, where);
}

function parseOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function check<T extends z.ZodType>(schema: T, text: string, where: string): z.output<T> {
  const value = parseOr(text);
  if (value === undefined) throw new RecordingError(where, "is not JSON");
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new RecordingError(where, describeIssues(parsed.error));
  return parsed.data;
}

async function* readLines(path: string): AsyncGenerator<{ readonly seq: number; readonly text: string }> {
  const { signal } = new AbortController();
  try {
    for await (const lines of readEvents(path, { afterSeq: 0, isFollowing: false, signal })) {
      for (const { seq, bytes } of lines) yield { seq, text: bytes.toString("utf8") };
    }
  } catch (error) {
    throw new RecordingError(path, error instanceof Error ? error.message : String(error));
  }
}

async function hasContent(path: string): Promise<boolean> {
  return stat(path).then(
    ({ size }) => size > 0,
    () => false,
  );
}
