import * as z from "zod";
import { byteLength } from "./byte-length.ts";
import { Decision } from "./decisions.ts";
import { TurnEndedData, TurnStatusAtEnd } from "./event-data.ts";
import { ExecutorName, Mode, RequestedExecutor, RequestedTransport } from "./executors.ts";
import { Instructions } from "./instructions.ts";
import { McpServers } from "./mcp-servers.ts";
import { Permissions } from "./permissions.ts";
import { listOf } from "./list.ts";

/** The caller's own id of a request or session. */
export const CallerId = z
  .string()
  .regex(/^[A-Za-z0-9._:-]{8,64}$/, "8 to 64 of letters, digits and . _ : -")
  .meta({ id: "CallerId", description: "An id that the caller chooses: 8 to 64 of letters, digits and `. _ : -`." });
export type CallerId = z.infer<typeof CallerId>;

/** Longest text of one input, in bytes of UTF-8: 1 MiB. */
export const MAX_INPUT_TEXT_BYTES = 1_048_576;

/** Most texts and images of one input. */
const MAX_INPUT_PARTS = 1_000;

const text = z
  .string()
  .refine((value) => value.trim() !== "", "must not be empty")
  .refine((value) => byteLength(value) <= MAX_INPUT_TEXT_BYTES, `at most ${MAX_INPUT_TEXT_BYTES} bytes of UTF-8`);

/** The pattern of the schema below costs 60 ms for 10 MiB, in which nothing else is answered; decoding it costs a few. */
function isImageUrl(url: string): boolean {
  const head = /^data:image\/(?:png|jpeg|gif|webp);base64,/.exec(url)?.[0];
  if (head === undefined) return false;
  const base64 = url.slice(head.length);
  // Blanks are nothing to the decoder.
  if (base64 === "" || [" ", "\t", "\n", "\f", "\r"].some((blank) => base64.includes(blank))) return false;
  try {
    atob(base64);
    return true;
  } catch {
    // Its only fault is that this is no base64.
    return false;
  }
}

const InputPart = z
  .discriminatedUnion("type", [
    z
      .strictObject({
        type: z.literal("text").describe("A text."),
        text: text.describe("At most 1 MiB of UTF-8, all texts of an input together."),
      })
      .meta({ id: "TextPart", description: "A text of an input." }),
    z
      .strictObject({
        type: z.literal("image").describe("An image."),
        data_url: z
          .string()
          .refine(isImageUrl, "a base64 data URL of a png, jpeg, gif or webp image")
          .meta({ pattern: "^data:image\\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$" })
          .describe("The image as a base64 data URL: png, jpeg, gif or webp."),
      })
      .meta({ id: "ImagePart", description: "An image of an input, for a CLI with the capability `images`." }),
  ])
  .meta({ id: "InputPart", description: "A part of an input." });

/** The input of a turn: a text, or parts with at least one text. */
export const TurnInput = z
  .union([
    text,
    listOf(InputPart, MAX_INPUT_PARTS)
      .refine((parts) => parts.some((part) => part.type === "text"), "needs at least one text part")
      .refine(
        (parts) =>
          parts.reduce((sum, part) => sum + (part.type === "text" ? byteLength(part.text) : 0), 0) <=
          MAX_INPUT_TEXT_BYTES,
        `at most ${MAX_INPUT_TEXT_BYTES} bytes of text in all`,
      ),
  ])
  .meta({ id: "TurnInput", description: "What the CLI is to do: a text, or texts and images with at least one text." });
export type TurnInput = z.infer<typeof TurnInput>;

const model = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$/,
    "letters, digits and . _ : / @ + -, beginning with a letter or digit",
  );
const word = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, "letters, digits, _ and -, beginning with a letter or digit");

/** Free data of the caller, returned unchanged. */
export const Metadata = z
  .record(z.string().max(64), z.string().max(1024))
  .refine((value) => Object.keys(value).length <= 32, "at most 32 entries")
  .meta({
    id: "Metadata",
    description:
      "Free data of the caller, such as ids of its own: at most 32 entries, returned unchanged with the turn or session. " +
      "The CLI never sees it; no event has it.",
  });

/** 1e999 is infinite once it is read, and would be written as null. */
function hasOnlyNumbers(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(hasOnlyNumbers);
}

const SteerMode = z
  .enum(["inject", "interrupt"])
  .describe(
    "How a turn with `queue_policy` `steer` reaches the running one. `inject`: the running turn takes the input in, at its next " +
      "request to the model (`input.accepted` with this `request_id`); both end alike, this one with `taken_by`. What it has not taken " +
      "in at its end is done next, as a turn of its own. `interrupt`: as `queue_policy` says. Without it, inject where the running turn " +
      "is interactive and this one asks for nothing but a text, else interrupt.",
  );

/** Body of `POST /v1/turns`. Unknown fields are refused. */
export const TurnRequest = z
  .strictObject({
    input: TurnInput,
    executor: RequestedExecutor.optional().meta({
      description:
        "Which CLI: its id, or the name of its program (`opencode` is `cli-a`, `codex` is `cli-b`), but answers and events " +
        "carry the id. Needed unless `session_id` names a session.",
    }),
    session_id: CallerId.optional().meta({
      description: "The session to continue, or with `executor` the id of a new one.",
    }),
    request_id: CallerId.optional().meta({ description: "A request is executed at most once per id." }),
    mode: Mode.default("execute"),
    model: model
      .optional()
      .describe("The model, as the CLI's provider names it. Without it the operator's (`CLI_A_MODEL`, `CLI_B_MODEL`)."),
    agent: word
      .optional()
      .describe(
        "Which of the CLI's own agents does the turn: CLI A has `build` (without this field) and `plan`, and those that " +
          "`CLI_A_JSON` adds. An unknown one is replaced by the default, with a `warning` (`agent_not_found`). Only for a CLI with the " +
          "capability `agents`; a turn with `mode` `plan` is always done by `plan`.",
      ),
    effort: word
      .optional()
      .describe(
        "How much the model reasons, in the CLI's words, such as `low` or `high`: CLI A's `--variant`, CLI B's " +
          "`model_reasoning_effort`. Its provider decides which values it has; without this field the configured one.",
      ),
    queue_policy: z
      .enum(["enqueue", "reject", "steer"])
      .default("enqueue")
      .describe(
        "What to do where the session has a turn that runs or waits; one turn of a session runs at a time. `enqueue`: wait behind " +
          "them. `reject`: refuse this request with `session_busy`. `steer`: go next, before those that wait, and interrupt the running " +
          "turn at its next step boundary (`step.ended`), or after `TURND_STEER_WAIT_MS`. The interrupted turn ends as `cancelled` " +
          "(`cancelled_by` `steer`), this one continues its conversation; one that completes before stays `completed`.",
      ),
    steer_mode: SteerMode.optional(),
    resume_policy: z
      .enum(["continue", "fail"])
      .default("continue")
      .describe(
        "What to do where the CLI cannot continue the session's conversation. `continue`: begin a new one, reported by " +
          "`session.degraded`. `fail`: end the turn as failed with `resume_degraded`.",
      ),
    timeout_ms: z.int().min(0).max(86_400_000).optional().meta({
      description:
        "Of the whole turn, in milliseconds, from the start of its process, also while turnd is down. 0 switches it off.",
    }),
    idle_timeout_ms: z
      .int()
      .min(0)
      .max(86_400_000)
      .optional()
      .meta({ description: "Without a new byte of stdout while no tool runs; 0 switches it off." }),
    output_schema: z
      .record(z.string(), z.unknown())
      .refine(hasOnlyNumbers, "has a number that is larger than a number can be")
      .optional()
      .meta({ description: "A JSON Schema the answer has to follow." }),
    workspace: z
      .string()
      .regex(/^\//, "must be an absolute path")
      .max(4096)
      .optional()
      .describe(
        "The directory the CLI works in: an absolute path below one of `TURND_WORKSPACE_ROOTS`. Without it the session's. " +
          "A new session gets it for all its turns; without it, one of its own.",
      ),
    permissions: Permissions.optional().meta({
      description:
        "What this turn may not do, in addition to what its session may not; nothing here allows what the session denies.",
    }),
    diff: z
      .boolean()
      .optional()
      .meta({
        description:
          "Whether what the turn changes in its workspace is kept, for `GET /v1/turns/{turn_id}/diff`. git reads the workspace " +
          "before the turn starts: about 0.1 s, in a large one up to seconds; one that is in no repository up to " +
          "`TURND_DIFF_MAX_COPY_BYTES`. Where there can be none, the turn begins with the warning `no_diff`. Default: " +
          "`TURND_TURN_DIFF`.",
      }),
    mcp_servers: McpServers.optional().meta({
      description:
        "MCP servers for this turn only, besides the operator's; one of the operator's with the same name is not used.",
    }),
    instructions: Instructions.optional().meta({
      description: "Given to the model in this turn only, after those of its session.",
    }),
    transport: RequestedTransport.optional().meta({
      description: "How the CLI is driven in this turn. Without it as its session says.",
    }),
    metadata: Metadata.optional(),
  })
  .refine((value) => value.executor !== undefined || value.session_id !== undefined, {
    path: ["executor"],
    message: "needed unless session_id names a session",
  })
  .meta({ id: "TurnRequest", description: "A turn to run. Unknown fields are refused." });
export type TurnRequest = z.infer<typeof TurnRequest>;

export const TurnStatus = z.enum(["queued", "running", ...TurnStatusAtEnd.options]).meta({
  id: "TurnStatus",
  description: "Where a turn stands: it waits, runs, or has ended as one of the other three.",
});
export type TurnStatus = z.infer<typeof TurnStatus>;

const IDS = {
  turn_id: z.string().describe("The turn's id."),
  request_id: z.string().describe("The id of its request: the caller's, or one that turnd made."),
  session_id: z.string().describe("The session it belongs to."),
};

/** The answer to an admission, and to its repetition. */
export const TurnAdmission = z
  .strictObject({
    ...IDS,
    status: TurnStatus,
    queue_position: z
      .int()
      .nonnegative()
      .meta({ description: "Turns ahead of this one in its session; 0 when running or ended." }),
    events_url: z.string().describe("Path of its events."),
    result_url: z.string().describe("Path of its result, once it has ended."),
  })
  .meta({ id: "TurnAdmission", description: "A turn that was admitted: it runs, or waits for its place." });
export type TurnAdmission = z.infer<typeof TurnAdmission>;

/** A turn in its present state. */
export const TurnSnapshot = TurnAdmission.extend({
  executor: ExecutorName,
  mode: Mode,
  workspace: z.string().describe("The directory the CLI works in."),
  model: z.string().optional().describe("The model that was asked for; absent for the configured one."),
  input_excerpt: z.string().optional().meta({
    description: "The beginning of the input's text, at most 200 characters, on one line, secrets taken out.",
  }),
  metadata: Metadata.optional(),
  created_at: z.iso.datetime().describe("When it was admitted, UTC."),
  started_at: z.iso.datetime().optional().describe("When the CLI was started, UTC; absent while it waits."),
  ended_at: z.iso.datetime().optional().describe("When it ended, UTC; absent before."),
  last_seq: z.int().nonnegative().describe("`seq` of its last event so far; 0 before the first."),
  running_command: z
    .strictObject({
      command: z.string().describe("Its arguments, cut off; secrets taken out."),
      running_ms: z.int().nonnegative().describe("How long it has run."),
    })
    .optional()
    .describe(
      "A command that a tool of the running turn runs, also where the CLI reports it only at its end (CLI A). Absent: the turn " +
        "waits for the model, or the CLI works itself.",
    ),
}).meta({ id: "TurnSnapshot", description: "A turn in its present state." });
export type TurnSnapshot = z.infer<typeof TurnSnapshot>;

/** The result of an ended turn: the data of its `turn.ended`, with its ids and the rule that decided. */
export const TurnResult = TurnEndedData.extend({
  ...IDS,
  executor: ExecutorName,
  metadata: Metadata.optional(),
  ended_at: z.iso.datetime().describe("When it ended, UTC."),
  decision: Decision.meta({ description: "Which rule decided how the turn ended." }),
}).meta({
  id: "TurnResult",
  description: "How a turn ended: the data of its `turn.ended`, its ids, and the rule that decided.",
});
export type TurnResult = z.infer<typeof TurnResult>;

/** What a turn was asked, as it was given to the CLI. */
export const TurnInputText = z
  .strictObject({
    turn_id: IDS.turn_id,
    text: z.string().meta({ description: "The texts of the input, a blank line between two of them." }),
    images: z.int().nonnegative().meta({ description: "How many images the input has; they are not shown." }),
    agent: word.optional().describe("The CLI's own agent that was asked for."),
    effort: word.optional().describe("How much the model was to reason."),
    permissions: Permissions.optional().describe("What the request denied, besides its session."),
    diff: z.boolean().optional().describe("True where what the turn changes is kept as a diff."),
    not_shown: z
      .array(z.string())
      .optional()
      .describe("Fields that the request has as well: of `mcp_servers`, `instructions`, `output_schema`."),
  })
  .meta({ id: "TurnInputText", description: "What a turn was asked, as it was given to the CLI." });
export type TurnInputText = z.infer<typeof TurnInputText>;

/** What a cancel ended: answered when the turn's process tree is gone. */
export const CancelReceipt = z
  .strictObject({
    turn_id: IDS.turn_id,
    status: TurnStatus.meta({
      description:
        "`running` where what it printed is still being logged: `turn.ended` follows. `queued` where turnd was stopping and had left the turn to its next start, which ends it without running it.",
    }),
    already_ended: z.boolean().meta({ description: "True when the turn had ended before this request." }),
    ended: z
      .array(
        z.strictObject({
          pid: z.int().positive().describe("Its process id inside the sandbox."),
          command: z.string().describe("The program's name."),
          signal: z.string().describe("The last signal that it was sent."),
        }),
      )
      .meta({ description: "Processes that were ended, with the last signal each was sent." }),
    duration_ms: z.int().nonnegative().describe("From the request to the end of the last process."),
  })
  .meta({ id: "CancelReceipt", description: "What a cancel ended: answered when no process of the turn is left." });
export type CancelReceipt = z.infer<typeof CancelReceipt>;
