import * as z from "zod";

/** What an approval is about. */
export const ApprovalKind = z.enum(["execute", "edit", "read", "network", "tool"]).meta({
  id: "ApprovalKind",
  description: "What the CLI asks to do: run a command, change files, read, use the network, or call another tool.",
});
export type ApprovalKind = z.infer<typeof ApprovalKind>;

/** What a person can answer to an approval. */
export const ApprovalDecision = z.enum(["accept", "accept_for_session", "decline", "cancel"]).meta({
  id: "ApprovalDecision",
  description:
    "`accept`: once. `accept_for_session`: the same is not asked again in this session while its CLI runs. `decline`: the model " +
    "is told, and goes on. `cancel`: the turn is interrupted.",
});
export type ApprovalDecision = z.infer<typeof ApprovalDecision>;

/** Who answered. */
export const AnsweredBy = z.enum(["client", "timeout", "turn_ended", "policy"]).meta({
  id: "AnsweredBy",
  description:
    "`client`: a request to this API. `timeout`: nobody within `TURND_APPROVAL_TIMEOUT_MS`. `turn_ended`: the turn ended first. " +
    "`policy`: turnd itself, since the turn does not ask.",
});
export type AnsweredBy = z.infer<typeof AnsweredBy>;

const MessageId = z.string().describe("Names the message within its turn, as in its `message` or `reasoning`.");
const ToolCallId = z.string().describe("The call it is about, as in its `tool.started`.");
const ApprovalId = z.string().describe("Names the approval within its turn.");
const QuestionId = z.string().describe("Names the request within its turn.");
const ExpiresAt = z.iso.datetime().describe("When turnd answers in a person's place, UTC.");

const Delta = z.strictObject({
  message_id: MessageId,
  text: z.string().describe("What the model wrote since the delta before. Provisional: the whole text follows."),
});

const Question = z.strictObject({
  id: z.string().describe("Names the question within its request."),
  header: z.string().optional().describe("A word or two above it."),
  text: z.string().describe("What is asked."),
  options: z
    .array(
      z.strictObject({
        label: z.string().describe("What is answered by choosing it."),
        description: z.string().optional().describe("What it means."),
      }),
    )
    .describe("What can be chosen."),
  free_text: z.boolean().describe("Whether something else than an option can be answered."),
  secret: z.boolean().describe("Whether the answer is a secret, not to be shown while it is typed."),
});

/** What a person is asked to allow. */
export const ApprovalRequest = z.strictObject({
  approval_id: ApprovalId,
  kind: ApprovalKind,
  tool_call_id: ToolCallId.optional(),
  title: z.string().describe("What is to be done, for a person."),
  detail: z
    .strictObject({
      command: z.string().optional().describe("The command line."),
      cwd: z.string().optional().describe("The directory that it runs in."),
      paths: z.array(z.string()).optional().describe("Files that it is about."),
      diff: z.string().optional().describe("What would be changed, as a unified diff."),
      reason: z.string().optional().describe("Why, in the model's words."),
    })
    .describe("What it consists of."),
  choices: z.array(ApprovalDecision).describe("What can be answered."),
  expires_at: ExpiresAt.optional(),
});
export type ApprovalRequest = z.infer<typeof ApprovalRequest>;

/** What a person is asked. */
export const InputRequest = z.strictObject({
  question_id: QuestionId,
  questions: z.array(Question).describe("What is asked, in order."),
  expires_at: ExpiresAt.optional(),
});
export type InputRequest = z.infer<typeof InputRequest>;

const CARRIED = "What events of this type carry.";

/** What each event type carries that only the interactive transport has. Source: docs/design.md §4. */
export const INTERACTIVE_EVENT_DATA = {
  "message.delta": Delta.describe(CARRIED),
  "reasoning.delta": Delta.describe(CARRIED),
  "message.discarded": z
    .strictObject({
      message_id: MessageId,
      reason: z
        .enum(["retry", "steer", "ended"])
        .describe("`retry`: the request is made again. `steer`: what came in cut it off. `ended`: the turn's end did."),
    })
    .describe(CARRIED),
  "tool.output": z
    .strictObject({
      tool_call_id: ToolCallId,
      text: z.string().describe("What it printed. Provisional: `tool.ended` has it whole."),
      mode: z.enum(["append", "replace"]).describe("Whether it follows what came before, or takes its place."),
      truncated: z
        .literal(true)
        .optional()
        .describe("No more of it is shown before the call's end: it has come to `TURND_MAX_TOOL_OUTPUT_BYTES`."),
    })
    .describe(CARRIED),
  "approval.requested": ApprovalRequest.describe(CARRIED),
  "approval.resolved": z
    .strictObject({
      approval_id: ApprovalId,
      decision: ApprovalDecision,
      by: AnsweredBy,
      note: z.string().optional().describe("Why, in the words of whoever answered."),
    })
    .describe(CARRIED),
  "input.requested": InputRequest.describe(CARRIED),
  "input.answered": z.strictObject({ question_id: QuestionId, by: AnsweredBy }).describe(CARRIED),
  "input.accepted": z
    .strictObject({
      request_id: z.string().describe("Of the turn whose input it is."),
      kind: z.enum(["turn", "steer"]).describe("Whether it began the turn, or came into it while it ran."),
    })
    .describe(CARRIED),
} as const;

/** What shows a text while it comes, and is whole in a later event: a reader that passes over it misses nothing. */
export const PROVISIONAL: ReadonlySet<string> = new Set<keyof typeof INTERACTIVE_EVENT_DATA>([
  "message.delta",
  "reasoning.delta",
  "message.discarded",
  "tool.output",
]);

/** What each of these events says. */
export const INTERACTIVE_EVENT_MEANING: Readonly<Record<keyof typeof INTERACTIVE_EVENT_DATA, string>> = {
  "message.delta":
    "The model has written more of a message. A `message` with the same id has it whole, or it is discarded.",
  "reasoning.delta": "The same of its reasoning.",
  "message.discarded": "What was shown of a message does not count: it will not be completed.",
  "tool.output": "A running tool has printed something.",
  "approval.requested": "The CLI waits until someone allows or declines what it is about to do.",
  "approval.resolved": "It was allowed or declined.",
  "input.requested": "The model asks a person something.",
  "input.answered": "It has an answer.",
  "input.accepted": "The CLI has taken an input: the proof that it was delivered.",
};
