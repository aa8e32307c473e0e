import { z } from "zod";
import { defined } from "../../../kit/defined.ts";
import { readEvents } from "../event-log/read-events.ts";
import type { TracedEnd, TracedTurn } from "../turns/lifecycle/tracer.ts";

/** A span as turnd knows it. Times are milliseconds since 1970. */
export interface SpanFacts {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** A word of a closed list, where it went wrong: never what a CLI or a provider wrote. */
  readonly error?: string | undefined;
}

/** The spans of a turn: its own, and those within it. */
export interface TurnSpans {
  readonly own: SpanFacts;
  readonly parts: readonly SpanFacts[];
}

/** More are counted, and have no span of their own. */
const MAX_TOOL_SPANS = 1_000;
/** A name comes from the CLI or the model. */
const MAX_NAME = 100;

/**
 * Makes the spans of an ended turn from what is on the disk: a turn that an earlier daemon began has all of them.
 *
 * They hold no prompt, no output, no argument of a tool, no path and no message of a failure.
 */
export async function spansOf(turn: TracedTurn, end: TracedEnd): Promise<TurnSpans> {
  const [createdMs, endMs] = [Date.parse(turn.created_at), Date.parse(end.at)];
  const startedMs = turn.started_at === undefined ? undefined : Date.parse(turn.started_at);
  // The session of a turn may be deleted before its log is read: the turn is shown without its tools then.
  const { tools, omitted } = await readTools(end.logPath).catch(() => ({ tools: [], omitted: end.data.counts.tools }));
  const attributes = { ...describeTurn(turn), ...describeEnd(end.data), "turnd.tools.omitted": omitted };
  const error = end.data.failure?.code;
  const parts: SpanFacts[] = [
    { name: "turn.queue", startMs: createdMs, endMs: Math.min(startedMs ?? endMs, endMs), attributes: idsOf(turn) },
  ];
  if (startedMs !== undefined) {
    parts.push({ name: "turn.run", startMs: startedMs, endMs, attributes: idsOf(turn), error });
  }
  return { own: { name: "turn", startMs: createdMs, endMs, attributes, error }, parts: [...parts, ...tools] };
}

/** What names a turn, on each of its spans. */
export function idsOf(turn: TracedTurn): SpanFacts["attributes"] {
  return { "turnd.turn.id": turn.turn_id, "turnd.session.id": turn.session_id, "turnd.executor": turn.executor };
}

function describeTurn(turn: TracedTurn): SpanFacts["attributes"] {
  return {
    ...idsOf(turn),
    "turnd.request.id": turn.request_id,
    "turnd.mode": turn.mode,
    "turnd.replay": turn.replay !== undefined,
    ...defined({
      "turnd.cli.name": turn.cli_name,
      "turnd.cli.version": turn.cli_version,
      "gen_ai.request.model": turn.model,
    }),
  };
}

function describeEnd({ status, failure, counts, usage }: TracedEnd["data"]): SpanFacts["attributes"] {
  return {
    "turnd.status": status,
    ...defined({ "error.type": failure?.code }),
    "turnd.events": counts.events,
    "turnd.tools": counts.tools,
    "turnd.retries": counts.retries,
    "turnd.records.unknown": counts.unknown,
    ...(usage === undefined
      ? {}
      : { "gen_ai.usage.input_tokens": usage.input_tokens, "gen_ai.usage.output_tokens": usage.output_tokens }),
  };
}

/** What is read of an event about a tool call. */
const ToolEvent = z.object({
  at: z.string(),
  data: z.object({
    tool_call_id: z.string(),
    name: z.string(),
    kind: z.string(),
    status: z.string().optional(),
    exit_code: z.number().optional(),
    duration_ms: z.number().optional(),
  }),
});

async function readTools(logPath: string): Promise<{ readonly tools: SpanFacts[]; readonly omitted: number }> {
  const startedAt = new Map<string, number>();
  const tools: SpanFacts[] = [];
  let omitted = 0;
  const { signal } = new AbortController();
  for await (const lines of readEvents(logPath, { afterSeq: 0, isFollowing: false, signal })) {
    for (const { type, bytes } of lines) {
      if (type !== "tool.started" && type !== "tool.ended") continue;
      if (tools.length >= MAX_TOOL_SPANS) {
        if (type === "tool.ended") omitted += 1;
        continue;
      }
      const { at, data } = ToolEvent.parse(JSON.parse(bytes.toString("utf8")));
      if (type === "tool.started") startedAt.set(data.tool_call_id, Date.parse(at));
      else tools.push(toolSpan(data, startedAt.get(data.tool_call_id), Date.parse(at)));
    }
  }
  return { tools, omitted };
}

function toolSpan(data: z.infer<typeof ToolEvent>["data"], startedMs: number | undefined, endMs: number): SpanFacts {
  // A CLI that prints a call only at its end logs both events at once, and may know how long it took.
  const startMs = Math.min(startedMs ?? endMs, endMs - (data.duration_ms ?? 0));
  const name = data.name.slice(0, MAX_NAME);
  return {
    name: `tool ${name}`,
    startMs,
    endMs,
    attributes: {
      "gen_ai.tool.name": name,
      "turnd.tool.kind": data.kind,
      ...defined({ "turnd.tool.status": data.status, "turnd.tool.exit_code": data.exit_code }),
    },
    error: data.status === "completed" ? undefined : data.status,
  };
}
