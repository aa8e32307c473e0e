import { z } from "zod";
import { OWN_RECORD } from "../../contract/own-record.ts";
import { readJsonLine } from "../../contract/json-line.ts";
import { TurnError } from "../records/turn-error.ts";

/** Of a message of the server's, or of turnd's: a number or a text. */
export const MessageId = z.union([z.int(), z.string()]);
export type MessageId = z.infer<typeof MessageId>;

const params = z.record(z.string(), z.unknown()).default({});

/** What the server answers to a request. */
const Reply = z.object({
  id: MessageId,
  result: z.record(z.string(), z.unknown()).nullish(),
  error: z.object({ code: z.number().optional(), message: z.string() }).optional(),
});
const Notification = z.object({ method: z.string(), params, emittedAtMs: z.number().optional() });
const ServerRequest = z.object({ method: z.string(), id: MessageId, params, emittedAtMs: z.number().optional() });

/** A request of turnd's, as it stands in the turn's stdout: without the prompt, which has a file of its own, and without any key. */
const Asked = z.object({
  [OWN_RECORD]: z.literal("asked"),
  id: z.string(),
  method: z.string(),
  params,
  /** Of a steer: the turn whose input it is. */
  request_id: z.string().optional(),
});
/** An answer of turnd's to a request of the server's. */
const Answered = z.object({
  [OWN_RECORD]: z.literal("answered"),
  id: MessageId,
  decision: z.enum(["accept", "accept_for_session", "decline", "cancel"]).optional(),
  /** Of a decision. */
  note: z.string().optional(),
  /** By question; absent where one of them is secret. */
  answers: z.record(z.string(), z.array(z.string())).optional(),
  by: z.enum(["client", "timeout", "turn_ended", "policy"]),
});

export type Reply = z.infer<typeof Reply>;
export type Notification = z.infer<typeof Notification>;
export type ServerRequest = z.infer<typeof ServerRequest>;
export type Asked = z.infer<typeof Asked>;
export type Answered = z.infer<typeof Answered>;

/** A line of an interactive turn's stdout, read. */
export type ReadMessage =
  | { readonly kind: "blank" }
  | { readonly kind: "reply"; readonly reply: Reply; readonly value: unknown }
  | { readonly kind: "notification"; readonly notification: Notification; readonly value: unknown }
  | { readonly kind: "request"; readonly request: ServerRequest; readonly value: unknown }
  | { readonly kind: "asked"; readonly asked: Asked }
  | { readonly kind: "answered"; readonly answered: Answered }
  | { readonly kind: "unknown"; readonly reason: "not_json" | "bad_shape"; readonly value?: unknown };

/** Reads one line; never throws. Source: contract of the app server, §1: what has a `method` and an id is the server's request. */
export function readMessage(text: string): ReadMessage {
  const read = readJsonLine(text);
  if (read.kind === "blank") return read;
  if (read.kind === "not_json") return { kind: "unknown", reason: "not_json" };
  const { value } = read;
  if (read.kind === "too_deep" || typeof value !== "object" || value === null)
    return { kind: "unknown", reason: "bad_shape", value };
  if (OWN_RECORD in value) return readOwn(value);
  if ("method" in value) {
    if ("id" in value) {
      const request = ServerRequest.safeParse(value);
      if (request.success) return { kind: "request", request: request.data, value };
    } else {
      const notification = Notification.safeParse(value);
      if (notification.success) return { kind: "notification", notification: notification.data, value };
    }
  } else if ("id" in value) {
    const reply = Reply.safeParse(value);
    if (reply.success) return { kind: "reply", reply: reply.data, value };
  }
  return { kind: "unknown", reason: "bad_shape", value };
}

function readOwn(value: object): ReadMessage {
  const asked = Asked.safeParse(value);
  if (asked.success) return { kind: "asked", asked: asked.data };
  const answered = Answered.safeParse(value);
  if (answered.success) return { kind: "answered", answered: answered.data };
  return { kind: "unknown", reason: "bad_shape", value };
}

/** Whose turn a notification or a request is about; empty where it names none. */
const Place = z.object({
  threadId: z.string().catch(""),
  turnId: z.string().nullish().catch(undefined),
  turn: z.object({ id: z.string() }).optional().catch(undefined),
});

/** Whose turn a message is about. Ids of items are the provider's and not unique: only both of these are. */
export function placeOf(of: Notification["params"]): {
  readonly threadId: string;
  readonly turnId: string | undefined;
} {
  const { threadId, turnId, turn } = Place.parse(of);
  return { threadId, turnId: turnId ?? turn?.id };
}

export const TurnCompleted = z.object({
  turn: z.object({
    id: z.string(),
    status: z.string(),
    error: TurnError.nullish().catch(undefined),
  }),
});

export const ErrorNotice = z.object({ error: TurnError, willRetry: z.boolean().default(false) });

const count = z.int().nonnegative();
export const TokenUsage = z.object({
  tokenUsage: z.object({
    total: z.object({
      inputTokens: count,
      cachedInputTokens: count.default(0),
      cacheWriteInputTokens: count.default(0),
      outputTokens: count,
      reasoningOutputTokens: count.default(0),
    }),
  }),
});

export const ItemNotice = z.object({ item: z.looseObject({ id: z.string(), type: z.string() }) });
export const Delta = z.object({ itemId: z.string(), delta: z.string(), summaryIndex: z.int().default(0) });

export const PlanUpdate = z.object({ plan: z.array(z.object({ step: z.string(), status: z.string() })) });

/** Of the reply to `thread/start`, `thread/resume`: which thread it is. */
export const ThreadReply = z.object({ thread: z.object({ id: z.string().min(1) }) });
/** Of the reply to `turn/start`. */
export const TurnReply = z.object({ turn: z.object({ id: z.string().min(1) }) });
/** Of the reply to `thread/turns/list`, as far as it shows whose input was taken. */
export const TurnList = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      status: z.string().catch(""),
      items: z.array(z.looseObject({ type: z.string(), clientId: z.string().nullish() })).catch([]),
    }),
  ),
});
/** Of the reply to `thread/queue/list`. */
export const QueueList = z.object({ data: z.array(z.looseObject({})).default([]) });
