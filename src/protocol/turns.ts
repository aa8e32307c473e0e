import * as z from "zod";
import { byteLength } from "./byte-length.ts";
import { Decision } from "./decisions.ts";
import { TurnEndedData, TurnStatusAtEnd } from "./events.ts";
import { ExecutorName, Mode, RequestedExecutor } from "./executors.ts";
import { McpServers } from "./mcp-servers.ts";
import { Permissions } from "./permissions.ts";
import { listOf } from "./list.ts";

/** The caller's own id of a request or session. */
export const CallerId = z
  .string()
  .regex(/^[A-Za-z0-9._:-]{8,64}$/, "8 to 64 of letters, digits and . _ : -")
  .meta({ id: "CallerId" });
export type CallerId = z.infer<typeof CallerId>;

/** Longest text of one input, in bytes of UTF-8: 1 MiB. */
export const MAX_INPUT_TEXT_BYTES = 1_048_576;

/** Most texts and images of one input. */
const MAX_INPUT_PARTS = 1_000;

const text = z
  .string()
  .refine((value) => value.trim() !== "", "must not be empty")
  .refine((value) => byteLength(value) <= MAX_INPUT_TEXT_BYTES, `at most ${MAX_INPUT_TEXT_BYTES} bytes of UTF-8`);

const InputPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text }),
  z.strictObject({
    type: z.literal("image"),
    data_url: z
      .string()
      .regex(
        /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/,
        "a base64 data URL of a png, jpeg, gif or webp image",
      ),
  }),
]);

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
  .meta({ id: "TurnInput" });
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
  .meta({ id: "Metadata" });

/** Body of `POST /v1/turns`. Unknown fields are refused. */
export const TurnRequest = z
  .strictObject({
    input: TurnInput,
    executor: RequestedExecutor.optional().meta({
      description:
        "Which CLI: its id, or the name of its program (`opencode` is `cli-a`, `codex` is `cli-b`), which answers and events do " +
        "not repeat: they carry the id. Needed unless `session_id` names a session.",
    }),
    session_id: CallerId.optional().meta({
      description: "The session to continue, or with `executor` the id of a new one.",
    }),
    request_id: CallerId.optional().meta({ description: "A request is executed at most once per id." }),
    mode: Mode.default("execute"),
    model: model.optional(),
    agent: word.optional(),
    effort: word.optional(),
    queue_policy: z.enum(["enqueue", "reject", "steer"]).default("enqueue"),
    resume_policy: z.enum(["continue", "fail"]).default("continue"),
    timeout_ms: z.int().min(0).max(86_400_000).optional().meta({
      description:
        "Of the whole turn, in milliseconds, from the start of its process on: also while turnd is down and the process runs on. 0 switches it off.",
    }),
    idle_timeout_ms: z
      .int()
      .min(0)
      .max(86_400_000)
      .optional()
      .meta({ description: "Without a new byte of stdout; 0 switches it off." }),
    output_schema: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: "A JSON Schema the answer has to follow." }),
    workspace: z.string().regex(/^\//, "must be an absolute path").max(4096).optional(),
    permissions: Permissions.optional().meta({
      description:
        "What this turn may not do, in addition to what its session may not; nothing here allows what the session denies.",
    }),
    diff: z
      .boolean()
      .optional()
      .meta({
        description:
          "Whether what the turn changes in its git repository is kept, for `GET /v1/turns/{turn_id}/diff`. git reads the " +
          "workspace before the turn starts, which takes some 20 ms and, in a large one, up to seconds. Default: " +
          "`TURND_TURN_DIFF`.",
      }),
    mcp_servers: McpServers.optional().meta({
      description:
        "MCP servers for this turn only, besides the operator's; one of the operator's with the same name is not used.",
    }),
    metadata: Metadata.optional(),
  })
  .refine((value) => value.executor !== undefined || value.session_id !== undefined, {
    path: ["executor"],
    message: "needed unless session_id names a session",
  })
  .meta({ id: "TurnRequest" });
export type TurnRequest = z.infer<typeof TurnRequest>;

export const TurnStatus = z.enum(["queued", "running", ...TurnStatusAtEnd.options]).meta({ id: "TurnStatus" });
export type TurnStatus = z.infer<typeof TurnStatus>;

/** The answer to an admission, and to its repetition. */
export const TurnAdmission = z
  .strictObject({
    turn_id: z.string(),
    request_id: z.string(),
    session_id: z.string(),
    status: TurnStatus,
    queue_position: z
      .int()
      .nonnegative()
      .meta({ description: "Turns ahead of this one in its session; 0 when running or ended." }),
    events_url: z.string(),
    result_url: z.string(),
  })
  .meta({ id: "TurnAdmission" });
export type TurnAdmission = z.infer<typeof TurnAdmission>;

/** A turn in its present state. */
export const TurnSnapshot = TurnAdmission.extend({
  executor: ExecutorName,
  mode: Mode,
  workspace: z.string(),
  model: z.string().optional(),
  input_excerpt: z.string().optional().meta({
    description: "The beginning of the input's text, at most 200 characters, on one line, secrets taken out.",
  }),
  metadata: Metadata.optional(),
  created_at: z.iso.datetime(),
  started_at: z.iso.datetime().optional(),
  ended_at: z.iso.datetime().optional(),
  last_seq: z.int().nonnegative(),
}).meta({ id: "TurnSnapshot" });
export type TurnSnapshot = z.infer<typeof TurnSnapshot>;

/** The result of an ended turn: the data of its `turn.ended`, with its ids and the rule that decided. */
export const TurnResult = TurnEndedData.extend({
  turn_id: z.string(),
  request_id: z.string(),
  session_id: z.string(),
  executor: ExecutorName,
  metadata: Metadata.optional(),
  ended_at: z.iso.datetime(),
  decision: Decision.meta({ description: "Which rule decided how the turn ended." }),
}).meta({ id: "TurnResult" });
export type TurnResult = z.infer<typeof TurnResult>;

/** What a turn was asked, as it was given to the CLI. */
export const TurnInputText = z
  .strictObject({
    turn_id: z.string(),
    text: z.string().meta({ description: "The texts of the input, a blank line between two of them." }),
    images: z.int().nonnegative().meta({ description: "How many images the input has; they are not shown." }),
  })
  .meta({ id: "TurnInputText" });
export type TurnInputText = z.infer<typeof TurnInputText>;

/** One line of what a CLI has printed. */
export const RawRecord = z
  .strictObject({
    line: z.int().positive().meta({ description: "1-based, as in an event's `native.line`." }),
    text: z.string().meta({ description: "Without its newline; bytes that are no UTF-8 are U+FFFD." }),
    bytes: z
      .int()
      .nonnegative()
      .optional()
      .meta({ description: "Bytes of the whole line, where `text` is its beginning alone." }),
  })
  .meta({ id: "RawRecord" });
export type RawRecord = z.infer<typeof RawRecord>;

/** Some of a turn's raw output. */
export const RawRecords = z
  .strictObject({
    turn_id: z.string(),
    source: z.enum(["stdout", "stderr"]),
    records: z.array(RawRecord),
    has_more: z
      .boolean()
      .meta({ description: "Whether there are lines after these now. A running turn may print more." }),
  })
  .meta({ id: "RawRecords" });
export type RawRecords = z.infer<typeof RawRecords>;

/** What a cancel ended: answered when the turn's process tree is gone. */
export const CancelReceipt = z
  .strictObject({
    turn_id: z.string(),
    status: TurnStatus.meta({
      description:
        "`running` where so much was printed that its events are still being logged two seconds after the last process ended: `turn.ended` follows. `queued` where turnd was stopping already and had left the turn to its next start, which ends it without running it.",
    }),
    already_ended: z.boolean().meta({ description: "True when the turn had ended before this request." }),
    ended: z
      .array(z.strictObject({ pid: z.int().positive(), command: z.string(), signal: z.string() }))
      .meta({ description: "Processes that were ended, with the last signal each was sent." }),
    duration_ms: z.int().nonnegative(),
  })
  .meta({ id: "CancelReceipt" });
export type CancelReceipt = z.infer<typeof CancelReceipt>;
