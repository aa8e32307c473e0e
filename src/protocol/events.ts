import * as z from "zod";
import { CliName, Mode } from "./executors.ts";
import { Failure, FailureCode } from "./failures.ts";

/**
 * Tokens of one turn. Input includes cached and cache-written tokens, output includes reasoning; absent means unknown.
 */
export const Usage = z
  .strictObject({
    input_tokens: z.int().nonnegative(),
    cached_input_tokens: z.int().nonnegative(),
    cache_write_tokens: z.int().nonnegative(),
    output_tokens: z.int().nonnegative(),
    reasoning_tokens: z.int().nonnegative(),
  })
  .meta({ id: "Usage" });
export type Usage = z.infer<typeof Usage>;

/** What a tool does, in the words of the Agent Client Protocol, plus `mcp`, `subagent` and `plan`. */
export const ToolKind = z
  .enum(["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other", "mcp", "subagent", "plan"])
  .meta({ id: "ToolKind" });
export type ToolKind = z.infer<typeof ToolKind>;

/** How a tool call ended; `interrupted` closes a call that started and never ended. */
export const ToolStatus = z.enum(["completed", "failed", "denied", "interrupted"]).meta({ id: "ToolStatus" });
export type ToolStatus = z.infer<typeof ToolStatus>;

/** How a process ended: exactly one of the two is set. Source: waitpid(2). */
export const Exit = z.strictObject({ code: z.int().nullable(), signal: z.string().nullable() }).meta({ id: "Exit" });
export type Exit = z.infer<typeof Exit>;

export const TurnStatusAtEnd = z.enum(["completed", "failed", "cancelled"]).meta({ id: "TurnStatusAtEnd" });
export type TurnStatusAtEnd = z.infer<typeof TurnStatusAtEnd>;

const ToolCall = z.strictObject({
  tool_call_id: z.string(),
  name: z.string().meta({ description: "The tool's name as the CLI prints it." }),
  kind: ToolKind,
  title: z.string().optional(),
  input: z.unknown().optional(),
  locations: z.array(z.strictObject({ path: z.string(), line: z.int().optional() })).optional(),
});

const ToolEndedData = ToolCall.extend({
  status: ToolStatus,
  output: z
    .strictObject({ text: z.string(), bytes: z.int().nonnegative(), truncated: z.boolean() })
    .optional()
    .meta({ description: "`bytes` is the UTF-8 length of `text`; `truncated` says that the CLI itself cut it." }),
  exit_code: z.int().optional(),
  changes: z
    .array(
      z.strictObject({ path: z.string(), change: z.enum(["add", "update", "delete"]), diff: z.string().optional() }),
    )
    .optional(),
  error: z.string().optional(),
  duration_ms: z.number().nonnegative().optional(),
});

/** How a turn ended, in full; also the body of its result. */
export const TurnEndedData = z
  .strictObject({
    status: TurnStatusAtEnd,
    cancelled_by: z.enum(["request", "steer", "session_deleted"]).optional(),
    output: z.string().nullable().meta({ description: "Text of the turn's last assistant message." }),
    failure: Failure.optional(),
    native_session_id: z.string().optional(),
    resumed: z.boolean(),
    degraded: z.boolean(),
    usage: Usage.optional().meta({
      description:
        "Absent where it is unknown. CLI B reports the total of its session, and only of a turn that completed: what turns " +
        "before it have used that failed or were cancelled is in this one's.",
    }),
    cost_usd: z.number().nonnegative().optional(),
    exit: Exit.optional(),
    counts: z.strictObject({
      events: z.int().positive().meta({ description: "Events of the turn, this one included." }),
      records: z.int().nonnegative().meta({ description: "Lines of stdout, blank ones aside." }),
      unknown: z.int().nonnegative(),
      tools: z.int().nonnegative(),
      retries: z.int().nonnegative(),
    }),
    duration_ms: z.int().nonnegative(),
    digest: z.string().meta({
      description: "Lower-case hex SHA-256 over the bytes of the preceding lines of events.jsonl, newlines included.",
    }),
  })
  .meta({ id: "TurnEndedData" });
export type TurnEndedData = z.infer<typeof TurnEndedData>;

/** What each event type carries. Source: docs/design.md §4. */
const DATA = {
  "turn.started": z.strictObject({
    cli: z.strictObject({ name: z.string(), version: z.string().optional() }),
    mode: Mode,
    model: z.string().optional(),
    resume: z.strictObject({ requested: z.string().optional() }),
    trace_id: z.string().optional(),
  }),
  "session.bound": z.strictObject({ native_session_id: z.string(), resumed: z.boolean() }),
  "session.degraded": z.strictObject({
    code: z.literal("resume_degraded"),
    requested: z.string(),
    bound: z.string().optional(),
    reason: z.string(),
  }),
  "step.started": z.strictObject({ index: z.int().nonnegative() }),
  "step.ended": z.strictObject({
    index: z.int().nonnegative(),
    reason: z.string(),
    usage: Usage.optional(),
    cost_usd: z.number().nonnegative().optional(),
  }),
  message: z.strictObject({ message_id: z.string(), text: z.string(), final: z.boolean().optional() }),
  reasoning: z.strictObject({ message_id: z.string(), text: z.string() }),
  "tool.started": ToolCall,
  "tool.ended": ToolEndedData,
  "plan.updated": z.strictObject({
    entries: z.array(
      z.strictObject({
        content: z.string(),
        status: z.enum(["pending", "in_progress", "completed", "cancelled"]),
        priority: z.string().optional(),
      }),
    ),
  }),
  retry: z.strictObject({
    attempt: z.int().positive(),
    max: z.int().positive().optional(),
    code: FailureCode,
    message: z.string(),
  }),
  "permission.denied": z.strictObject({
    permission: z.string(),
    patterns: z.array(z.string()).optional(),
    message: z.string(),
  }),
  warning: z.strictObject({ code: z.string(), message: z.string() }),
  "record.unknown": z.strictObject({ reason: z.enum(["not_json", "unknown_type", "bad_shape"]), line: z.string() }),
  "turn.ended": TurnEndedData,
} as const;

function event<T extends keyof typeof DATA>(type: T) {
  return z.strictObject({ type: z.literal(type), data: DATA[type] });
}

const events = {
  turnStarted: event("turn.started"),
  sessionBound: event("session.bound"),
  sessionDegraded: event("session.degraded"),
  stepStarted: event("step.started"),
  stepEnded: event("step.ended"),
  message: event("message"),
  reasoning: event("reasoning"),
  toolStarted: event("tool.started"),
  toolEnded: event("tool.ended"),
  planUpdated: event("plan.updated"),
  retry: event("retry"),
  permissionDenied: event("permission.denied"),
  warning: event("warning"),
  recordUnknown: event("record.unknown"),
  turnEnded: event("turn.ended"),
};

/** What happened, before it is logged: a type and its data. */
export const TurnEvent = z.discriminatedUnion("type", [
  events.turnStarted,
  events.sessionBound,
  events.sessionDegraded,
  events.stepStarted,
  events.stepEnded,
  events.message,
  events.reasoning,
  events.toolStarted,
  events.toolEnded,
  events.planUpdated,
  events.retry,
  events.permissionDenied,
  events.warning,
  events.recordUnknown,
  events.turnEnded,
]);
export type TurnEvent = z.infer<typeof TurnEvent>;

/**
 * Where in the CLI's output an event comes from. `line` is 1-based in stdout.jsonl, or in stderr.log when `source` says
 * so.
 */
export const Native = z
  .strictObject({
    source: z.literal("stderr").optional(),
    line: z.int().positive(),
    type: z.string().optional(),
    id: z.string().optional(),
  })
  .meta({ id: "Native" });
export type Native = z.infer<typeof Native>;

/** The fields every logged event begins with. `native` is absent for events that turnd made itself. */
const envelope = {
  v: z.literal(1),
  seq: z.int().positive().meta({ description: "Starts at 1 in each turn and has no gaps." }),
  at: z.iso.datetime(),
  turn_id: z.string(),
  session_id: z.string(),
  executor: CliName,
  native: Native.optional(),
};

/** An event as stored and as sent, one JSON line. Source: docs/design.md §4. */
export const LoggedEvent = z
  .discriminatedUnion("type", [
    events.turnStarted.extend(envelope),
    events.sessionBound.extend(envelope),
    events.sessionDegraded.extend(envelope),
    events.stepStarted.extend(envelope),
    events.stepEnded.extend(envelope),
    events.message.extend(envelope),
    events.reasoning.extend(envelope),
    events.toolStarted.extend(envelope),
    events.toolEnded.extend(envelope),
    events.planUpdated.extend(envelope),
    events.retry.extend(envelope),
    events.permissionDenied.extend(envelope),
    events.warning.extend(envelope),
    events.recordUnknown.extend(envelope),
    events.turnEnded.extend(envelope),
  ])
  .meta({ id: "LoggedEvent" });
export type LoggedEvent = z.infer<typeof LoggedEvent>;
