import * as z from "zod";
import { Mode, Transport } from "./executors.ts";
import { Failure, FailureCode } from "./failures.ts";
import { INTERACTIVE_EVENT_DATA, INTERACTIVE_EVENT_MEANING } from "./interactive-events.ts";

/**
 * Tokens of one turn. Input includes cached and cache-written tokens, output includes reasoning; absent means unknown.
 */
export const Usage = z
  .strictObject({
    input_tokens: z.int().nonnegative().describe("Tokens sent to the model, cached and cache-written ones included."),
    cached_input_tokens: z.int().nonnegative().describe("Those of them that the provider had in its cache."),
    cache_write_tokens: z.int().nonnegative().describe("Those of them that the provider wrote into its cache."),
    output_tokens: z.int().nonnegative().describe("Tokens that the model wrote, reasoning included."),
    reasoning_tokens: z.int().nonnegative().describe("Those of them that are reasoning."),
  })
  .meta({
    id: "Usage",
    description: "Tokens of one turn or step, counted alike for every CLI. Absent is unknown, not 0.",
  });
export type Usage = z.infer<typeof Usage>;

/** What a tool does, in the words of the Agent Client Protocol, plus `mcp`, `subagent` and `plan`. */
export const ToolKind = z
  .enum(["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other", "mcp", "subagent", "plan"])
  .meta({
    id: "ToolKind",
    description:
      "What a tool does, in the words of the Agent Client Protocol, plus `mcp` (a tool of an MCP server), `subagent` and `plan`.",
  });
export type ToolKind = z.infer<typeof ToolKind>;

/** How a tool call ended; `interrupted` closes a call that started and never ended. */
export const ToolStatus = z.enum(["completed", "failed", "denied", "interrupted"]).meta({
  id: "ToolStatus",
  description: "How a tool call ended. `interrupted`: it had not ended when the turn did.",
});
export type ToolStatus = z.infer<typeof ToolStatus>;

/** How a process ended: exactly one of the two is set. Source: waitpid(2). */
export const Exit = z
  .strictObject({
    code: z.int().nullable().describe("Its exit code; null where a signal ended it."),
    signal: z.string().nullable().describe("The signal that ended it, such as `SIGKILL`; otherwise null."),
  })
  .meta({ id: "Exit", description: "How a CLI's process ended: exactly one of the two is set." });
export type Exit = z.infer<typeof Exit>;

export const TurnStatusAtEnd = z.enum(["completed", "failed", "cancelled"]).meta({
  id: "TurnStatusAtEnd",
  description:
    "How a turn ended. `completed`: the CLI's own records prove it. `failed`: see `failure`. `cancelled`: see `cancelled_by`.",
});
export type TurnStatusAtEnd = z.infer<typeof TurnStatusAtEnd>;

const ToolLocation = z.strictObject({
  path: z.string().describe("The file, as the tool named it."),
  line: z.int().optional().describe("The first line concerned, 1-based."),
});

const ToolCall = z
  .strictObject({
    tool_call_id: z
      .string()
      .describe("Names the call within its turn: its `tool.started` and `tool.ended` have the same."),
    name: z.string().meta({ description: "The tool's name as the CLI prints it." }),
    kind: ToolKind,
    title: z.string().optional().describe("What it does, for a person: a command line, a file, a query."),
    input: z.unknown().optional().describe("Its arguments, as the CLI prints them."),
    locations: z.array(ToolLocation).optional().describe("Files that the call is about."),
  })
  .meta({ description: "A tool call that has begun." });

const ToolOutput = z.strictObject({
  text: z.string().describe("What the tool answered or printed."),
  bytes: z.int().nonnegative().describe("Length of `text` in bytes of UTF-8."),
  truncated: z.boolean().describe("Whether the CLI itself cut it."),
});

const FileChange = z.strictObject({
  path: z.string().describe("The file, as the tool named it."),
  change: z.enum(["add", "update", "delete"]).describe("What happened to it."),
  diff: z.string().optional().describe("The change as a unified diff, where the CLI prints one."),
});

const ToolEndedData = ToolCall.extend({
  status: ToolStatus,
  output: ToolOutput.optional().describe(
    "What it answered. `bytes` is the UTF-8 length of `text`; `truncated` says that the CLI itself cut it.",
  ),
  exit_code: z.int().optional().describe("Exit code of a command."),
  changes: z.array(FileChange).optional().describe("Files that it changed."),
  error: z.string().optional().describe("Why it failed or was denied."),
  duration_ms: z.number().nonnegative().optional().describe("How long it ran, where the CLI prints that."),
}).meta({ description: "A tool call and how it ended." });

const TurnCounts = z.strictObject({
  events: z.int().positive().meta({ description: "Events of the turn, this one included." }),
  records: z.int().nonnegative().meta({ description: "Lines of stdout, blank ones aside." }),
  unknown: z.int().nonnegative().describe("Lines that became `record.unknown`."),
  tools: z.int().nonnegative().describe("Tool calls."),
  retries: z.int().nonnegative().describe("`retry` events."),
});

/** How a turn ended, in full; also the body of its result. */
export const TurnEndedData = z
  .strictObject({
    status: TurnStatusAtEnd,
    cancelled_by: z
      .enum(["request", "steer", "session_deleted"])
      .optional()
      .describe(
        "What cancelled it: `POST …/cancel`, a later turn with `queue_policy` `steer`, or the deletion of its session. Only when `cancelled`.",
      ),
    taken_by: z
      .string()
      .optional()
      .describe("The turn that took its input in while it ran, and has what came of it; both ended alike."),
    output: z.string().nullable().meta({ description: "Text of the turn's last assistant message." }),
    failure: Failure.optional(),
    native_session_id: z.string().optional().describe("The CLI's own id of the conversation."),
    resumed: z.boolean().describe("Whether the CLI continued the conversation of earlier turns."),
    degraded: z.boolean().describe("Whether it was to continue and lost history: see `session.degraded`."),
    usage: Usage.optional().meta({
      description:
        "Absent where it is unknown. CLI B reports the total of its session, and only of a turn that completed: what turns " +
        "before it have used that failed or were cancelled is in this one's.",
    }),
    cost_usd: z.number().nonnegative().optional().describe("What it cost in US dollars, by the CLI's own reckoning."),
    exit: Exit.optional(),
    counts: TurnCounts.describe("What the turn consisted of."),
    duration_ms: z.int().nonnegative().describe("From its start to its end."),
    digest: z.string().meta({
      description: "Lower-case hex SHA-256 over the bytes of the preceding lines of events.jsonl, newlines included.",
    }),
  })
  .meta({ id: "TurnEndedData", description: "How a turn ended, in full." });
export type TurnEndedData = z.infer<typeof TurnEndedData>;

const MessageId = z.string().describe("Names the message within its turn.");
const StepIndex = z.int().nonnegative().describe("Counts the turn's steps from 0.");

const CARRIED = "What events of this type carry.";

/** What each event type carries. Source: docs/design.md §4. */
export const EVENT_DATA = {
  "turn.started": z
    .strictObject({
      cli: z
        .strictObject({
          name: z.string().describe("What it is called in this image."),
          version: z.string().optional().describe("Its version, where it could be asked."),
        })
        .describe("The CLI that runs the turn."),
      mode: Mode,
      transport: Transport.optional().describe("How the CLI is driven; absent: `headless`."),
      model: z.string().optional().describe("The model that the turn asked for; absent for the configured one."),
      resume: z
        .strictObject({
          requested: z.string().optional().describe("The native session to continue; absent for a new conversation."),
        })
        .describe("Which conversation the CLI was asked to continue."),
      trace_id: z
        .string()
        .optional()
        .describe(
          "The trace the turn belongs to: of the request's `traceparent`, or turnd's own where it sends spans.",
        ),
      traceparent: z
        .string()
        .optional()
        .describe(
          "W3C Trace Context: names the turn's span, or the caller's where turnd sends none. The CLI gets the same.",
        ),
    })
    .describe(CARRIED),
  "session.bound": z
    .strictObject({
      native_session_id: z.string().describe("The CLI's own id of the conversation."),
      resumed: z.boolean().describe("Whether it is that of earlier turns."),
    })
    .describe(CARRIED),
  "session.degraded": z
    .strictObject({
      code: z.literal("resume_degraded").describe("Always this."),
      requested: z.string().describe("The native session that was to be continued."),
      bound: z.string().optional().describe("The one the CLI answers for instead."),
      reason: z.string().describe("What was lost, in a sentence."),
    })
    .describe(CARRIED),
  "step.started": z.strictObject({ index: StepIndex }).describe(CARRIED),
  "step.ended": z
    .strictObject({
      index: StepIndex,
      reason: z.string().describe("Why the model stopped, in the CLI's word, such as `stop` or `tool-calls`."),
      usage: Usage.optional().describe("Tokens of this step, where the CLI prints them."),
      cost_usd: z
        .number()
        .nonnegative()
        .optional()
        .describe("What the step cost in US dollars, by the CLI's reckoning."),
    })
    .describe(CARRIED),
  message: z
    .strictObject({
      message_id: MessageId,
      text: z.string().describe("A whole block of the assistant's text; the CLIs print no parts of one."),
      final: z
        .boolean()
        .optional()
        .describe(
          "True for the turn's answer, where a CLI says which message that is. CLI A and CLI B do not: see `output` of `turn.ended`.",
        ),
    })
    .describe(CARRIED),
  reasoning: z
    .strictObject({
      message_id: MessageId,
      text: z.string().describe("What the model lets see of its reasoning."),
    })
    .describe(CARRIED),
  "tool.started": ToolCall,
  "tool.ended": ToolEndedData,
  "plan.updated": z
    .strictObject({
      entries: z
        .array(
          z.strictObject({
            content: z.string().describe("What is to be done."),
            status: z.enum(["pending", "in_progress", "completed", "cancelled"]).describe("How far it is."),
            priority: z.string().optional().describe("How urgent, in the CLI's word."),
          }),
        )
        .describe("The whole plan, in order; it replaces the one before."),
    })
    .describe(CARRIED),
  retry: z
    .strictObject({
      attempt: z.int().positive().describe("Which attempt failed, from 1."),
      max: z.int().positive().optional().describe("How many the CLI makes, where that is known."),
      code: FailureCode.describe("What went wrong."),
      message: z.string().describe("What the provider or the CLI said."),
    })
    .describe(CARRIED),
  "permission.denied": z
    .strictObject({
      permission: z.string().describe("What was asked for, in the CLI's word."),
      patterns: z.array(z.string()).optional().describe("For which commands or files."),
      message: z.string().describe("The refusal, in a sentence."),
    })
    .describe(CARRIED),
  warning: z
    .strictObject({
      code: z
        .string()
        .describe("One of those listed under Warnings in docs/reference.md; a later turnd may have more."),
      message: z.string().describe("What happened, in a sentence."),
    })
    .describe(CARRIED),
  "record.unknown": z
    .strictObject({
      reason: z
        .enum(["not_json", "unknown_type", "bad_shape"])
        .describe(
          "Why it could not be read: no JSON, a type that turnd does not know, or a known type of another form.",
        ),
      line: z.string().describe("The line as the CLI printed it."),
    })
    .describe(CARRIED),
  ...INTERACTIVE_EVENT_DATA,
  "turn.ended": TurnEndedData,
} as const;

/** What each event says. */
export const EVENT_MEANING: Readonly<Record<keyof typeof EVENT_DATA, string>> = {
  "turn.started": "The CLI was started.",
  "session.bound": "The CLI has named the conversation it works in.",
  "session.degraded": "The conversation was to be continued and history is lost. It comes before any message or tool.",
  "step.started": "The model is asked: the first step, or another one with what the tools answered.",
  "step.ended": "The model has answered, and its tools have run. A steer interrupts a turn here.",
  message: "A block of the assistant's answer.",
  reasoning: "A block of the model's reasoning.",
  "tool.started":
    "A tool call began. CLI B prints it while the tool runs; CLI A prints a call only when it has ended, so that both of its events come together.",
  "tool.ended": "A tool call ended. One that the turn's end cut off is closed as `interrupted`.",
  "plan.updated": "The assistant's list of what is to be done has changed.",
  retry: "An attempt to reach the provider failed and the CLI tries again.",
  "permission.denied": "Something was not allowed.",
  warning: "Something happened that neither ends a turn nor keeps it from completing.",
  "record.unknown": "A line that turnd cannot read, kept as it is.",
  ...INTERACTIVE_EVENT_MEANING,
  "turn.ended": "The last event of every turn: how it ended, once none of its processes is left.",
};
