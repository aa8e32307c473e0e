import * as z from "zod";
import { EVENT_DATA, EVENT_MEANING } from "./event-data.ts";
import { CliName } from "./executors.ts";

function event<T extends keyof typeof EVENT_DATA>(type: T) {
  return z.strictObject({ type: z.literal(type).describe("What kind of event it is."), data: EVENT_DATA[type] });
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
  messageDelta: event("message.delta"),
  reasoningDelta: event("reasoning.delta"),
  messageDiscarded: event("message.discarded"),
  toolOutput: event("tool.output"),
  approvalRequested: event("approval.requested"),
  approvalResolved: event("approval.resolved"),
  inputRequested: event("input.requested"),
  inputAnswered: event("input.answered"),
  inputAccepted: event("input.accepted"),
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
  events.messageDelta,
  events.reasoningDelta,
  events.messageDiscarded,
  events.toolOutput,
  events.approvalRequested,
  events.approvalResolved,
  events.inputRequested,
  events.inputAnswered,
  events.inputAccepted,
  events.turnEnded,
]);
export type TurnEvent = z.infer<typeof TurnEvent>;

/**
 * Where in the CLI's output an event comes from. `line` is 1-based in stdout.jsonl, or in stderr.log when `source` says
 * so.
 */
export const Native = z
  .strictObject({
    source: z.literal("stderr").optional().describe("Present where the line is one of stderr."),
    line: z.int().positive().describe("1-based line of stdout.jsonl, or of stderr.log."),
    type: z.string().optional().describe("The record's type, as the CLI prints it."),
    id: z.string().optional().describe("The record's id, as the CLI prints it."),
  })
  .meta({
    id: "Native",
    description: "Where in the CLI's output an event comes from; absent for events that turnd made itself.",
  });
export type Native = z.infer<typeof Native>;

/** The fields every logged event begins with. `native` is absent for events that turnd made itself. */
const envelope = {
  v: z.literal(1).describe("Version of the form of events."),
  seq: z.int().positive().meta({ description: "Starts at 1 in each turn and has no gaps." }),
  at: z.iso.datetime().describe("When it was logged, UTC."),
  turn_id: z.string().describe("The turn it belongs to."),
  session_id: z.string().describe("The session of that turn."),
  executor: CliName,
  native: Native.optional(),
  parent_tool_call_id: z
    .string()
    .optional()
    .describe("Of a subagent: the `tool_call_id` of the call that it works for. Absent: the turn's own."),
};

/** Each is a schema of its own in the description of the API: `turn.started` is `TurnStartedEvent`. */
function logged<T extends keyof typeof EVENT_DATA, S extends z.ZodRawShape & { readonly type: z.ZodLiteral<T> }>(
  schema: z.ZodObject<S, z.core.$strict>,
) {
  const type = schema.shape.type.value;
  const id = `${type
    .split(".")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("")}Event`;
  return schema.extend(envelope).meta({ id, description: EVENT_MEANING[type] });
}

/** An event as stored and as sent, one JSON line. Source: docs/design.md §4. */
export const LoggedEvent = z
  .discriminatedUnion("type", [
    logged(events.turnStarted),
    logged(events.sessionBound),
    logged(events.sessionDegraded),
    logged(events.stepStarted),
    logged(events.stepEnded),
    logged(events.message),
    logged(events.reasoning),
    logged(events.toolStarted),
    logged(events.toolEnded),
    logged(events.planUpdated),
    logged(events.retry),
    logged(events.permissionDenied),
    logged(events.warning),
    logged(events.recordUnknown),
    logged(events.messageDelta),
    logged(events.reasoningDelta),
    logged(events.messageDiscarded),
    logged(events.toolOutput),
    logged(events.approvalRequested),
    logged(events.approvalResolved),
    logged(events.inputRequested),
    logged(events.inputAnswered),
    logged(events.inputAccepted),
    logged(events.turnEnded),
  ])
  .meta({ id: "LoggedEvent", description: "An event as stored and as sent: one line of JSON. `type` says which." });
export type LoggedEvent = z.infer<typeof LoggedEvent>;
