import { z } from "zod";
import type { RunEvent } from "../protocol/events.ts";
import type { TrajectorySummary } from "../protocol/calls.ts";

/** Events that a summary is made of. */
export const SUMMARY_EVENTS = 500;

const Item = z.looseObject({ type: z.string(), name: z.string().optional(), status: z.string().optional() });
const Items = z.looseObject({ items: z.array(Item) });

/** What a run did, from its first events; pure. @param lastSeq - of the run */
export function summarize(events: readonly RunEvent[], lastSeq: number): TrajectorySummary {
  const tools = new Map<string, { call_count: number; error_count: number }>();
  const toolOf = (name: string): { call_count: number; error_count: number } => {
    const known = tools.get(name) ?? { call_count: 0, error_count: 0 };
    tools.set(name, known);
    return known;
  };
  for (const { payload, event } of events) {
    if (event !== "messages") continue;
    for (const { type, name = "unknown", status } of Items.safeParse(payload).data?.items ?? []) {
      if (type === "tool_call") toolOf(name).call_count += 1;
      if (type === "tool_result" && status !== "completed") toolOf(name).error_count += 1;
    }
  }
  const counts = [...tools.values()];
  const last = events.at(-1)?.seq ?? null;
  return {
    schema_version: 1,
    source: "run_events",
    event_count: events.length,
    events_truncated: last !== null && last < lastSeq,
    event_range: { first_seq: events[0]?.seq ?? null, last_seq: last },
    tool_call_count: counts.reduce((sum, { call_count }) => sum + call_count, 0),
    tool_error_count: counts.reduce((sum, { error_count }) => sum + error_count, 0),
    error_count: events.filter(({ event }) => event === "error").length,
    interrupt_count: events.filter(({ event }) => event === "interrupt").length,
    tools: [...tools].map(([name, count]) => ({ name, ...count })),
  };
}
