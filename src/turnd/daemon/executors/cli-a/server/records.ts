import { z } from "zod";
import { OWN_RECORD } from "../../contract/own-record.ts";
import { readJsonLine } from "../../contract/json-line.ts";
import { CliAError, CliATokens, CliAToolState } from "../records/record.ts";

const params = z.record(z.string(), z.unknown());
/** When the relay wrote a line, in milliseconds since 1970. */
const at = z.number().optional().catch(undefined);

/** A request of turnd's, as it stands in the turn's stdout: without the prompt, which has a file of its own. */
const Asked = z.object({
  [OWN_RECORD]: z.literal("asked"),
  id: z.string(),
  method: z.string(),
  params: params.default({}),
  /** The turn whose input it is. */
  request_id: z.string().optional(),
});
/** An answer of turnd's to what the server asks of a person. */
const Answered = z.object({
  [OWN_RECORD]: z.literal("answered"),
  id: z.string(),
  decision: z.enum(["accept", "accept_for_session", "decline", "cancel"]).optional(),
  /** By question. */
  answers: z.record(z.string(), z.array(z.string())).optional(),
  by: z.enum(["client", "timeout", "turn_ended", "policy"]),
});

/** What the relay says of a request. */
const Reply = z.object({
  at,
  id: z.string(),
  status: z.number().optional(),
  body: z.unknown().optional(),
  /** The server could not be asked. */
  error: z.string().optional(),
});
/** A change that the server has stored. */
const Stored = z.object({
  at,
  sync: z.object({
    id: z.string().default(""),
    type: z.string(),
    seq: z.int(),
    aggregateID: z.string(),
    data: params,
  }),
});
/** Anything else of its stream. */
const Streamed = z.object({
  at,
  event: z.object({ id: z.string().default(""), type: z.string(), properties: params.default({}) }),
});
const Lists = z.object({
  lists: z.object({ permission: z.array(params).default([]), question: z.array(params).default([]) }),
});
const Note = z.object({ note: z.enum(["reconnected", "gap"]) });
const Printed = z.object({ printed: z.string() });

export type Asked = z.infer<typeof Asked>;
export type Answered = z.infer<typeof Answered>;
export type Reply = z.infer<typeof Reply>;

/** Something that happened in a session. */
export interface Change {
  readonly id: string;
  /** As the stream calls it, without the version that the store adds. */
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly atMs: number | undefined;
}

/** A line of an interactive turn's stdout, read. */
export type ReadLine =
  | { readonly kind: "blank" }
  | { readonly kind: "reply"; readonly reply: Reply }
  | { readonly kind: "change"; readonly change: Change }
  | { readonly kind: "lists"; readonly lists: z.infer<typeof Lists>["lists"] }
  | { readonly kind: "note"; readonly note: "reconnected" | "gap" }
  | { readonly kind: "printed"; readonly text: string }
  | { readonly kind: "asked"; readonly asked: Asked }
  | { readonly kind: "answered"; readonly answered: Answered }
  | { readonly kind: "unknown"; readonly reason: "not_json" | "bad_shape" };

const BAD_SHAPE = { kind: "unknown", reason: "bad_shape" } as const;

/** Reads one line; never throws. What the relay writes: sandbox/server-relay.mjs. */
export function readLine(text: string): ReadLine {
  const read = readJsonLine(text);
  if (read.kind === "blank") return read;
  if (read.kind === "not_json") return { kind: "unknown", reason: "not_json" };
  const { value } = read;
  if (read.kind === "too_deep" || typeof value !== "object" || value === null) return BAD_SHAPE;
  return readMember(value) ?? BAD_SHAPE;
}

function readMember(value: object): ReadLine | undefined {
  if (OWN_RECORD in value) return readOwn(value);
  if ("sync" in value) {
    const { data } = Stored.safeParse(value);
    if (data === undefined) return undefined;
    const { id, type, data: changed } = data.sync;
    return { kind: "change", change: { id, type: type.replace(/\.\d+$/, ""), data: changed, atMs: data.at } };
  }
  if ("event" in value) {
    const { data } = Streamed.safeParse(value);
    if (data === undefined) return undefined;
    const { id, type, properties } = data.event;
    return { kind: "change", change: { id, type, data: properties, atMs: data.at } };
  }
  if ("id" in value) {
    const { data } = Reply.safeParse(value);
    return data && { kind: "reply", reply: data };
  }
  const lists = Lists.safeParse(value);
  if (lists.success) return { kind: "lists", lists: lists.data.lists };
  const note = Note.safeParse(value);
  if (note.success) return { kind: "note", note: note.data.note };
  const printed = Printed.safeParse(value);
  return printed.success ? { kind: "printed", text: printed.data.printed } : undefined;
}

function readOwn(value: object): ReadLine | undefined {
  const asked = Asked.safeParse(value);
  if (asked.success) return { kind: "asked", asked: asked.data };
  const answered = Answered.safeParse(value);
  return answered.success ? { kind: "answered", answered: answered.data } : undefined;
}

/** Which session a change is about; undefined where it is about none. */
export function sessionOf(data: Change["data"]): string | undefined {
  return typeof data["sessionID"] === "string" ? data["sessionID"] : undefined;
}

const text = z.string().optional().catch(undefined);
const flag = z.boolean().optional().catch(undefined);

/** A session, as `session.created` and the answer to its making show it. */
export const SessionInfo = z.object({ id: z.string(), parentID: text });
export const SessionCreated = z.object({ info: SessionInfo });

/** A message. Source: docs/contracts/cli-a-server.md §4. */
export const Message = z.object({
  id: z.string(),
  role: z.string(),
  parentID: text,
  summary: z.unknown().optional(),
  finish: text,
  error: CliAError.optional().catch(undefined),
  time: z.object({ completed: z.number().optional() }).catch({}),
});
export type Message = z.infer<typeof Message>;
export const MessageUpdated = z.object({ sessionID: z.string(), info: Message });

const part = { id: z.string(), messageID: z.string(), sessionID: z.string() };
const end = z.object({ end: z.number().optional() }).optional().catch(undefined);
const Running = z.object({
  status: z.literal("running"),
  input: z.unknown().optional(),
  title: text,
  metadata: z.object({ output: text, sessionId: text }).optional().catch(undefined),
});
/** Of one message: what the model wrote or called, or a mark of the CLI's. */
const Part = z.discriminatedUnion("type", [
  z.object({ ...part, type: z.literal("text"), text: z.string(), synthetic: flag, ignored: flag, time: end }),
  z.object({ ...part, type: z.literal("reasoning"), text: z.string(), time: end }),
  z.object({
    ...part,
    type: z.literal("tool"),
    tool: z.string(),
    callID: z.string(),
    state: z.discriminatedUnion("status", [
      z.object({ status: z.literal("pending") }),
      Running,
      ...CliAToolState.options,
    ]),
  }),
  z.object({ ...part, type: z.literal("step-start") }),
  z.object({
    ...part,
    type: z.literal("step-finish"),
    reason: z.string(),
    cost: z.number().nonnegative().max(1_000_000).catch(0),
    tokens: CliATokens.optional().catch(undefined),
  }),
  z.object({ ...part, type: z.literal("compaction") }),
]);
export type Part = z.infer<typeof Part>;
export type ToolPart = Extract<Part, { type: "tool" }>;
export const PartUpdated = z.object({ part: Part });
/** Those that need no event: what they say is said by others. */
export const OTHER_PARTS: ReadonlySet<string> = new Set(["agent", "file", "patch", "retry", "snapshot", "subtask"]);
export const PartType = z.object({ part: z.object({ type: z.string() }) });

export const PartDelta = z.object({
  messageID: z.string(),
  partID: z.string(),
  field: z.string(),
  delta: z.string(),
});

export const SessionStatus = z.object({
  status: z.object({
    type: z.string(),
    attempt: z.number().optional().catch(undefined),
    message: z.string().catch(""),
    next: z.number().optional().catch(undefined),
  }),
});
export const SessionError = z.object({ error: CliAError });

/** What the server asks to be allowed. */
export const PermissionAsked = z.object({
  id: z.string(),
  permission: z.string(),
  patterns: z.array(z.string()).catch([]),
  metadata: z.record(z.string(), z.unknown()).catch({}),
  tool: z.object({ callID: z.string() }).optional().catch(undefined),
});
/** What the model asks. */
export const QuestionAsked = z.object({
  id: z.string(),
  questions: z.array(
    z.object({
      question: z.string(),
      header: z.string().catch(""),
      options: z.array(z.object({ label: z.string(), description: z.string().catch("") })).catch([]),
      custom: flag,
    }),
  ),
});
export const Resolved = z.object({ requestID: z.string() });
