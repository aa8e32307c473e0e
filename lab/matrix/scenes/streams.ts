import type { FailureCode } from "../../../src/turnd/protocol/index.ts";
import { breaks, ends, http, say, SSE, type Reply } from "../reply.ts";
import { fails, only, type Scene } from "../scene.ts";
import { FAILURE } from "./parts.ts";

const frame = (data: unknown, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
const CHUNK = { id: "gen-1", object: "chat.completion.chunk", created: 1, model: "m" };
const delta = (more: object): string => frame({ ...CHUNK, choices: [{ index: 0, delta: {}, ...more }] });
const HELLO = delta({ delta: { role: "assistant", content: "Hel" } });
const END = "data: [DONE]\n\n";
const START = frame(
  {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      stop_reason: null,
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  },
  "message_start",
);

/** A stream word for word. */
const sse = (...frames: readonly string[]): Reply => http(200, frames.join(""), SSE);
/** An error in a stream of the chat API. */
export const chatError = (error: unknown): Reply => sse(HELLO, frame({ error }));
/** An error in a stream of the messages API. */
export const messagesError = (type: string, message: string): Reply =>
  sse(START, frame({ type: "error", error: { type, message } }, "error"));
/** An answer in the messages API that ends for this reason. */
export const messagesStop = (reason: string): Reply =>
  sse(
    START,
    frame({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }, "content_block_start"),
    frame({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } }, "content_block_delta"),
    frame({ type: "content_block_stop", index: 0 }, "content_block_stop"),
    frame({ type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 2 } }, "message_delta"),
    frame({ type: "message_stop" }, "message_stop"),
  );
const chatEnd = (reason: string): Reply => sse(HELLO, delta({ finish_reason: reason }), END);
/** An answer in the dialect of the chat API, whatever was asked. */
export const CHAT_ANSWER = sse(HELLO, delta({ finish_reason: "stop" }), END);
/** A frame that is no JSON. */
export const MALFORMED = sse(HELLO, `data: {"id":"gen-1","choices":[{"index":0,"delta":{"content":\n\n`);

/** An error that is the first event of a stream of the messages API. */
export const KEY_EXPIRED = sse(
  frame(
    {
      type: "error",
      error: {
        type: "authentication_error",
        message: "OAuth token has expired. Please obtain a new token or refresh your existing token.",
      },
    },
    "error",
  ),
);

/** What CLI A has said after two failures, or a loop, it repeats. */
const REPEATS = {
  when: [
    { shows: FAILURE, times: 2 },
    { shows: /"step_start"/, times: 8 },
  ],
  signals: ["SIGKILL"],
  by: "idle_timeout",
} as const;
const also: readonly FailureCode[] = ["idle_timeout"];
type Rows = Readonly<Record<string, readonly [code: FailureCode, reply: Reply]>>;
const inApi = (api: "chat" | "messages", rows: Rows): Scene[] =>
  Object.entries(rows).map(([name, [code, reply]]) =>
    fails(`${api}-${name}`, code, `${code} in a stream`, reply, { api, also, stop: REPEATS }),
  );

/** Errors inside a stream that has begun well, in the words of each API. */
export const IN_STREAM: readonly Scene[] = [
  ...only(
    "cli-a",
    ...inApi("chat", {
      "rate-limit": [
        "rate_limited",
        chatError({ message: "Rate limit reached for gpt-4o", type: "tokens", code: "rate_limit_exceeded" }),
      ],
      quota: [
        "quota_exceeded",
        chatError({
          message: "You exceeded your current quota, please check your plan and billing details.",
          type: "insufficient_quota",
          code: "insufficient_quota",
        }),
      ],
      server: ["provider_error", chatError({ message: "The server had an error", type: "server_error", code: null })],
      context: [
        "context_overflow",
        chatError({ message: "This model's maximum context length is 8192 tokens.", code: "context_length_exceeded" }),
      ],
      overloaded: ["provider_error", chatError({ message: "Provider returned error: overloaded", code: 502 })],
      words: ["provider_error", chatError("model runner has unexpectedly stopped")],
      vllm: [
        "provider_error",
        chatError({
          object: "error",
          message: "EngineCore encountered an issue.",
          type: "InternalServerError",
          code: 500,
        }),
      ],
      "at-once": [
        "provider_error",
        sse(frame({ error: { message: "Internal server error", type: "server_error", code: null } })),
      ],
      openrouter: [
        "provider_error",
        sse(
          HELLO,
          frame({
            ...CHUNK,
            error: { code: 502, message: "Provider disconnected unexpectedly" },
            choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
          }),
          END,
        ),
      ],
      "openrouter-rate": [
        "rate_limited",
        sse(
          frame({
            error: {
              code: 429,
              message: "Provider returned error",
              metadata: { raw: "x is temporarily rate-limited upstream. Please retry shortly" },
            },
          }),
        ),
      ],
      credits: ["quota_exceeded", chatError({ message: "Insufficient credits", code: 402 })],
      flagged: ["content_blocked", chatError({ message: "Your prompt was flagged by moderation", code: 403 })],
      key: ["auth_failed", chatError({ message: "Invalid API key", code: 401 })],
      busy: [
        "provider_error",
        chatError({ message: "The server is currently busy, please try again later", type: "server_error" }),
      ],
      window: [
        "context_overflow",
        chatError({ message: "This endpoint's window is 65536 tokens, and about 70000 were sent.", code: 400 }),
      ],
      "key-limit": ["quota_exceeded", chatError({ message: "Key limit exceeded (monthly limit).", code: 403 })],
      region: ["model_not_found", chatError({ message: "This model is not offered in your region.", code: 404 })],
      policy: [
        "content_blocked",
        chatError({ message: "The answer was stopped by a safety system.", type: "safety_violation" }),
      ],
      "content-filter": ["content_blocked", chatEnd("content_filter")],
      length: ["output_limit", chatEnd("length")],
      "proxy-words": [
        "provider_error",
        sse(HELLO, "data: upstream connect error or disconnect/reset before headers\n\n"),
      ],
      malformed: ["provider_error", MALFORMED],
    }),
    ...inApi("messages", {
      overloaded: ["provider_error", messagesError("overloaded_error", "Overloaded")],
      "overloaded-at-once": [
        "provider_error",
        sse(frame({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "error")),
      ],
      "rate-limit": [
        "rate_limited",
        messagesError("rate_limit_error", "This request would exceed your account's rate limit."),
      ],
      "api-error": ["provider_error", messagesError("api_error", "Internal server error")],
      "bad-key": ["auth_failed", messagesError("authentication_error", "invalid x-api-key")],
      "too-long": [
        "context_overflow",
        messagesError("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
      ],
      billing: ["quota_exceeded", messagesError("billing_error", "Your credit balance is too low")],
      permission: [
        "auth_failed",
        messagesError("permission_error", "Your API key does not have permission to use this model."),
      ],
      model: ["model_not_found", messagesError("not_found_error", "model: claude-none")],
      slow: ["provider_timeout", messagesError("timeout_error", "Request timed out")],
      suspended: ["auth_failed", messagesError("permission_error", "This workspace was suspended.")],
      "max-tokens": ["output_limit", messagesStop("max_tokens")],
    }),
    // What its label is, a person has to say.
    ...Object.entries({
      "chat-sensitive": chatEnd("sensitive"),
      "chat-model-length": chatEnd("model_length"),
      "chat-insufficient-resource": chatEnd("insufficient_system_resource"),
      "chat-error": chatEnd("error"),
      "chat-no-finish": sse(HELLO, END),
      "chat-empty": sse(),
      "chat-html": sse("<html><body>Sign in to the network</body></html>"),
    }).map(([name, reply]): Scene => ({ name, why: "an end that is none", replies: [reply], stop: REPEATS })),
    {
      name: "messages-context-window",
      why: "model_context_window_exceeded",
      api: "messages",
      replies: [messagesStop("model_context_window_exceeded")],
      stop: REPEATS,
    },
  ),
  ...only(
    "cli-b",
    ...(
      [
        ["rate-limit", "rate_limited", "rate_limit_exceeded", "You are being rate limited. Please try again in 2s."],
        ["rate-minute", "rate_limited", "rate_limit_exceeded", "Tokens per minute: limit 10000, used 10000."],
        ["rate-pace", "rate_limited", "too_many_requests", "Too many requests for this model."],
        ["quota", "quota_exceeded", "insufficient_quota", "You exceeded your current quota, please check your plan."],
        ["quota-billing", "quota_exceeded", "billing_hard_limit_reached", "Billing hard limit has been reached"],
        ["quota-funds", "quota_exceeded", "insufficient_funds", "Your account has no funds left."],
        ["quota-key", "quota_exceeded", "key_limit_exceeded", "Key limit exceeded (monthly limit)."],
        ["quota-paid", "quota_exceeded", "payment_required", "The account has unpaid invoices."],
        ["context", "context_overflow", "context_length_exceeded", "Your input is too long for this model."],
        [
          "context-string",
          "context_overflow",
          "string_above_max_length",
          "This conversation is longer than the model's context window.",
        ],
        [
          "context-window",
          "context_overflow",
          "invalid_request_error",
          "This endpoint's window is 65536 tokens, and about 70000 were sent.",
        ],
        [
          "context-allowed",
          "context_overflow",
          "too_many_tokens",
          "Request has 131073 tokens but only 131072 are allowed.",
        ],
        ["server", "provider_error", "server_error", "An error occurred while processing your request."],
        ["overloaded", "provider_error", "model_overloaded", "The model is overloaded, please try again."],
        ["engine", "provider_error", "engine_error", "The engine stopped."],
        ["worker", "provider_error", "worker_died", "A worker process died."],
        ["gpu", "provider_error", "gpu_error", "GPU fell off the bus."],
        ["no-code", "provider_error", "", "Internal error"],
        ["slow", "provider_timeout", "timeout", "The model timed out."],
        ["key", "auth_failed", "invalid_api_key", "Incorrect API key provided."],
        ["key-expired", "auth_failed", "token_expired", "The access token has expired."],
        ["key-session", "auth_failed", "session_expired", "Your login has expired."],
        ["suspended", "auth_failed", "permission_error", "This workspace was suspended."],
        ["policy", "content_blocked", "content_policy_violation", "Your request was rejected by our safety system."],
        ["safety", "content_blocked", "safety_violation", "The answer was blocked for safety reasons."],
        ["harm", "content_blocked", "policy_refusal", "The output could be harmful."],
        ["flagged", "content_blocked", "invalid_prompt", "We cannot help with this prompt: it was flagged."],
        ["model", "model_not_found", "model_not_found", "The model was retired."],
        ["model-archived", "model_not_found", "model_archived", "The requested model was moved to the archive."],
        ["region", "model_not_found", "not_found", "This model is not offered in your region."],
        ["parameter", "invalid_request", "invalid_request_error", "Unknown parameter: 'include[2]'."],
      ] as const
    ).map(([name, code, said, words]) =>
      fails(`responses-${name}`, code, `${said || "no code"} in a stream`, breaks(said, words)),
    ),
    fails("responses-slow-down", "provider_error", "slow_down in a stream", breaks("slow_down", "Please slow down."), {
      also: ["rate_limited"],
    }),
    fails(
      "responses-error-event-rate",
      "rate_limited",
      "an error event of a rate limit",
      ends({ event: { code: "rate_limit_exceeded", message: "Rate limit reached" } }),
      {
        also: ["executor_unavailable", "network_error", "provider_error"],
      },
    ),
    fails(
      "responses-error-event-key",
      "auth_failed",
      "an error event about the key",
      ends({ event: { code: "invalid_api_key", message: "The key was revoked." } }),
      {
        also: ["provider_error", "network_error", "executor_unavailable"],
      },
    ),
    fails("responses-no-end", "network_error", "a stream that is closed at once", ends("none"), {
      also: ["provider_error"],
    }),
    fails(
      "responses-after-text",
      "rate_limited",
      "a rate limit behind a text",
      { ...breaks("rate_limit_exceeded", "Requests are coming in too fast."), pieces: say("Part one.").pieces },
      {
        text: "Part one.",
      },
    ),
  ),
];
