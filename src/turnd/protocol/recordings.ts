import * as z from "zod";
import { Exit, Usage } from "./event-data.ts";
import { CliName, Mode, Transport } from "./executors.ts";
import { FailureCode } from "./failures.ts";
import { listOf } from "./list.ts";
import { CallerId, Metadata } from "./turns.ts";

/** What turnd itself did to end a turn. Source: docs/design.md §2. */
export const TurnEndedBy = z
  .enum([
    "cancel",
    "steer",
    "session_deleted",
    "start_timeout",
    "idle_timeout",
    "turn_timeout",
    "exit_timeout",
    "output_limit",
    "shutdown",
  ])
  .meta({ id: "TurnEndedBy", description: "What turnd itself did to end a turn." });
export type TurnEndedBy = z.infer<typeof TurnEndedBy>;

/** Free text of a recorded turn, not its output. */
const text = z.string().max(65_536);

/** The turn that took in what another says, while it ran. */
export const TakenInput = z
  .strictObject({
    turn_id: z.string().max(64).describe("The turn that took its input in."),
    seq: z.int().positive().describe("The `seq` of its `input.accepted`."),
    output: z.string().nullable().describe("The text of its last message."),
  })
  .describe("The turn never ran by itself: another one took its input in.");
export type TakenInput = z.infer<typeof TakenInput>;

/**
 * The facts of a recorded turn that its output does not show: `turn.json`, as far as a replay reads it. A turn that has
 * `created_at` and no `started_at` was admitted and never ran.
 */
export const RecordedTurn = z
  .strictObject({
    executor: CliName,
    cli_name: text.optional().meta({ description: "What the CLI was called in the image that ran it." }),
    cli_version: text.optional().describe("The CLI's version."),
    args: listOf(text, 1_000).optional().describe("The arguments it was started with."),
    mode: Mode.optional(),
    transport: Transport.optional().describe("How the CLI was driven; absent: `headless`."),
    model: text.optional().describe("The model that the turn asked for."),
    requested_session: text
      .nullable()
      .optional()
      .meta({ description: "The native session that the process was asked to resume." }),
    ended_by: TurnEndedBy.nullable().optional().describe("What turnd itself did to end it; null for nothing."),
    output_alone: z.literal(true).optional().meta({
      description:
        "Nothing but output was kept: with `exit` null, how the process ended is not known, and only records decide.",
    }),
    usage_before: Usage.optional().describe("The session's total before this turn, where the CLI prints totals."),
    provider_fault: text
      .optional()
      .describe(
        "Why turnd's own request to the provider, before the turn, was not answered; a `network_error` quotes it.",
      ),
    degraded: z
      .strictObject({
        requested: text.describe("The native session that was to be continued."),
        reason: text.describe("What was lost."),
      })
      .optional()
      .meta({ description: "A resume that failed. Its output is left out: no client has seen it." }),
    halted: z
      .strictObject({
        code: FailureCode,
        message: text.describe("What went wrong."),
        remedy: text.optional().describe("What helps."),
      })
      .optional()
      .meta({ description: "Why turnd itself failed the turn, such as `executor_unavailable` before any process." }),
    taken: TakenInput.optional(),
    turn_id: text.optional().describe("Its id where it ran."),
    session_id: text.optional().describe("Its session there."),
    trace_id: text.optional().describe("The trace it belonged to."),
    traceparent: text.optional().describe("What its CLI was given of that trace."),
    created_at: z.iso.datetime().optional().describe("When it was admitted, UTC."),
    started_at: z.iso
      .datetime()
      .optional()
      .describe("When the CLI was started, UTC; absent for a turn that never ran."),
    note: text.optional().describe("What whoever keeps the recording wants to remember."),
  })
  .meta({ id: "RecordedTurn", description: "What the output of a recorded turn does not show." });
export type RecordedTurn = z.infer<typeof RecordedTurn>;

const at = z.iso.datetime().describe("When, UTC.");

/** Its fields in the order in which recordings have them: a packed recording is the same bytes each time. */
function entry<T extends z.ZodType, S extends z.ZodRawShape>(
  name: string,
  description: string,
  { type, ...rest }: { type: T } & S,
) {
  return z.strictObject({ type, at, ...rest }).meta({ id: `Timeline${name}`, description });
}

/** Something that happened in a recorded turn, in the order of its events. */
export const TimelineEntry = z
  .discriminatedUnion("type", [
    entry("Started", "The CLI was started.", { type: z.literal("started").describe("The CLI was started.") }),
    entry("Line", "This line and all before it had been taken when its events were logged.", {
      type: z.literal("line").describe("A line was taken."),
      source: z.literal("stderr").optional().describe("Present where the line is one of stderr."),
      line: z.int().positive().describe("1-based."),
    }),
    entry("Degraded", "turnd logged `session.degraded`.", {
      type: z.literal("degraded").describe("turnd logged `session.degraded`."),
    }),
    entry("Warning", "turnd logged a warning of its own.", {
      type: z.literal("warning").describe("turnd logged a warning of its own."),
      code: text.describe("The warning's code."),
      message: text.describe("What happened."),
    }),
    entry("Ended", "The process had ended.", { type: z.literal("ended").describe("The process had ended.") }),
  ])
  .meta({
    id: "TimelineEntry",
    description:
      "`line`: this line of stdout, or of stderr, and all before it had been taken when its events were logged. " +
      "`degraded` and `warning`: an event of turnd itself.",
  });
export type TimelineEntry = z.infer<typeof TimelineEntry>;

/** A part of a recorded file: text, or bytes that are not valid UTF-8. */
export const RecordedPiece = z
  .union([
    z.string().refine((value) => value.isWellFormed(), "must not hold half of a surrogate pair"),
    z.strictObject({ base64: z.base64().describe("The bytes, as base64.") }),
  ])
  .meta({ id: "RecordedPiece", description: "A part of a recorded file: its text, or bytes that are not UTF-8." });
export type RecordedPiece = z.infer<typeof RecordedPiece>;

const pieces = listOf(RecordedPiece, Infinity).meta({
  description:
    "The file is these pieces one after the other, byte for byte: a string is its UTF-8, an object the bytes that are " +
    "none. A line is a piece with its newline, unless it is very long or holds such bytes.",
});

/** A recording as one JSON document: what `GET /v1/turns/{turn_id}/recording` exports and a replay takes. */
export const RecordingDocument = z
  .strictObject({
    v: z.literal(1).describe("Version of the form of recordings."),
    turn: RecordedTurn,
    exit: Exit.nullable().meta({ description: "null when the end of the process was not recorded." }),
    input: z
      .string()
      .optional()
      .meta({ description: "The caller's text. A replay shows it and does nothing with it." }),
    stdout: pieces,
    stderr: pieces,
    timeline: listOf(TimelineEntry, Infinity)
      .optional()
      .meta({ description: "Which line was read when; without it stdout is read before stderr." }),
  })
  .meta({ id: "RecordingDocument", description: "A recorded turn as one document, to be played again." });
export type RecordingDocument = z.infer<typeof RecordingDocument>;

/** How fast a recording is played. */
export const ReplaySpeed = z
  .union([z.literal("max"), z.number().min(0.001).max(1_000_000)])
  .meta({ id: "ReplaySpeed", description: "`max`, or a factor: 1 as it was recorded, 10 ten times as fast." });
export type ReplaySpeed = z.infer<typeof ReplaySpeed>;

/** Body of `POST /v1/replays`. Unknown fields are refused. */
export const ReplayRequest = z
  .strictObject({
    recording: RecordingDocument,
    speed: ReplaySpeed.default("max"),
    session_id: CallerId.optional().meta({
      description: "A session of replays to add to, or the id of one to be made.",
    }),
    request_id: CallerId.optional().meta({ description: "A request is executed at most once per id." }),
    metadata: Metadata.optional(),
  })
  .meta({ id: "ReplayRequest", description: "A recording to play. Unknown fields are refused." });
export type ReplayRequest = z.infer<typeof ReplayRequest>;
