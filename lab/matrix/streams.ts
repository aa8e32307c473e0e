import { NINTH_STREAMS } from "./streams-ninth.ts";
import { TENTH_STREAMS } from "./streams-tenth.ts";

/** An answer that begins well and turns out to be none, in the words of one API. */
export interface Stream {
  readonly name: string;
  readonly api: "chat" | "messages" | "responses";
  readonly body: string;
}

const frame = (data: unknown, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

const CHUNK = { id: "gen-1", object: "chat.completion.chunk", created: 1, model: "m" };
const HELLO = frame({ ...CHUNK, choices: [{ index: 0, delta: { role: "assistant", content: "Hel" } }] });
const USAGE = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 };

const chat = (name: string, body: string): Stream => ({ name: `chat-${name}`, api: "chat", body });
const chatError = (name: string, error: unknown): Stream => chat(name, `${HELLO}${frame({ error })}`);
const chatFinish = (name: string, reason: string): Stream =>
  chat(
    name,
    `${HELLO}${frame({ ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: reason }], usage: USAGE })}data: [DONE]\n\n`,
  );

const CHAT: readonly Stream[] = [
  chatError("rate-limit", { message: "Rate limit reached for gpt-4o", type: "tokens", code: "rate_limit_exceeded" }),
  chatError("quota", {
    message: "You exceeded your current quota, please check your plan and billing details.",
    type: "insufficient_quota",
    code: "insufficient_quota",
  }),
  chatError("server", { message: "The server had an error", type: "server_error", code: null }),
  chatError("context", {
    message: "This model's maximum context length is 8192 tokens.",
    type: "invalid_request_error",
    code: "context_length_exceeded",
  }),
  chatError("overloaded", { message: "Provider returned error: overloaded", code: 502 }),
  chatError("words", "model runner has unexpectedly stopped"),
  chat(
    "openrouter",
    `${HELLO}${frame({ ...CHUNK, error: { code: 502, message: "Provider disconnected unexpectedly" }, choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }] })}data: [DONE]\n\n`,
  ),
  chat(
    "openrouter-rate",
    frame({
      error: {
        code: 429,
        message: "Provider returned error",
        metadata: { raw: "x is temporarily rate-limited upstream. Please retry shortly" },
      },
    }),
  ),
  chatError("unseen-credits", { message: "Insufficient credits", code: 402 }),
  chatError("unseen-flagged", { message: "Your prompt was flagged by moderation", code: 403 }),
  chatError("unseen-key", { message: "Invalid API key", code: 401 }),
  chatError("unseen-busy", { message: "The server is currently busy, please try again later", type: "server_error" }),
  chatError("sixth-window", {
    message: "This endpoint's window is 65536 tokens, and about 70000 were sent.",
    code: 400,
  }),
  chatError("sixth-key-limit", { message: "Key limit exceeded (monthly limit).", code: 403 }),
  chatError("sixth-region", { message: "This model is not offered in your region.", code: 404 }),
  chatError("sixth-policy", { message: "The answer was stopped by a safety system.", type: "safety_violation" }),
  chatFinish("content-filter", "content_filter"),
  chatFinish("length", "length"),
  chatFinish("sensitive", "sensitive"),
  chatFinish("model-length", "model_length"),
  chatFinish("insufficient-resource", "insufficient_system_resource"),
  chatFinish("error", "error"),
  chat("no-finish", `${HELLO}data: [DONE]\n\n`),
  chat("empty", ""),
  chat("malformed", `${HELLO}data: {"id":"gen-1","choices":[{"index":0,"delta":{"content":\n\n`),
  chat("html", "<html><body>Sign in to the network</body></html>"),
];

const messages = (name: string, type: string, message: string, begun = true): Stream => ({
  name: `messages-${name}`,
  api: "messages",
  body: `${begun ? START : ""}${frame({ type: "error", error: { type, message } }, "error")}`,
});
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
const refusal = (reason: string): Stream => ({
  name: `messages-${reason.replaceAll("_", "-")}`,
  api: "messages",
  body: [
    START,
    frame({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }, "content_block_start"),
    frame({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } }, "content_block_delta"),
    frame({ type: "content_block_stop", index: 0 }, "content_block_stop"),
    frame({ type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 2 } }, "message_delta"),
    frame({ type: "message_stop" }, "message_stop"),
  ].join(""),
});

const MESSAGES: readonly Stream[] = [
  messages("overloaded", "overloaded_error", "Overloaded"),
  messages("overloaded-at-once", "overloaded_error", "Overloaded", false),
  messages("rate-limit", "rate_limit_error", "This request would exceed your account's rate limit."),
  messages("api-error", "api_error", "Internal server error"),
  messages("bad-key", "authentication_error", "invalid x-api-key"),
  messages("too-long", "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
  messages("billing", "billing_error", "Your credit balance is too low"),
  messages("unseen-permission", "permission_error", "Your API key does not have permission to use this model."),
  messages("unseen-model", "not_found_error", "model: claude-none"),
  messages("unseen-slow", "timeout_error", "Request timed out"),
  messages("unseen-order", "invalid_request_error", "messages.1: `tool_use` ids must be unique"),
  messages("sixth-size", "request_too_large", "Request exceeds the maximum size"),
  messages("sixth-suspended", "permission_error", "This workspace was suspended."),
  refusal("refusal"),
  refusal("max_tokens"),
  refusal("model_context_window_exceeded"),
];

const CREATED = frame(
  {
    type: "response.created",
    sequence_number: 0,
    response: { id: "resp_1", object: "response", created_at: 1, model: "m", status: "in_progress", output: [] },
  },
  "response.created",
);
const failed = (code: string, message: string): Stream => ({
  name: `responses-${code.replaceAll("_", "-")}`,
  api: "responses",
  body: `${CREATED}${frame({ type: "response.failed", sequence_number: 1, response: { id: "resp_1", object: "response", status: "failed", error: { code, message }, output: [] } }, "response.failed")}`,
});
const incomplete = (reason: string): Stream => ({
  name: `responses-incomplete-${reason.replaceAll("_", "-")}`,
  api: "responses",
  body: `${CREATED}${frame({ type: "response.incomplete", sequence_number: 1, response: { id: "resp_1", object: "response", status: "incomplete", incomplete_details: { reason }, output: [] } }, "response.incomplete")}`,
});

const RESPONSES: readonly Stream[] = [
  failed("rate_limit_exceeded", "Rate limit reached for gpt-5. Please try again in 1s."),
  failed("insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
  failed("context_length_exceeded", "Your input exceeds the context window of this model."),
  failed("server_error", "An error occurred while processing your request."),
  failed("server_is_overloaded", "Our servers are currently overloaded. Please try again later."),
  failed("invalid_prompt", "Invalid prompt: your prompt was flagged as potentially violating our usage policy."),
  failed("cyber_policy", "This request was flagged for possible cybersecurity risk."),
  failed("usage_not_included", "Your plan does not include this."),
  failed("model_not_found", "The model 'x' does not exist."),
  failed("vector_store_timeout", "Timed out."),
  incomplete("max_output_tokens"),
  incomplete("content_filter"),
  {
    name: "responses-error-event",
    api: "responses",
    body: `${CREATED}${frame({ type: "error", sequence_number: 1, code: "server_error", message: "Something broke", param: null }, "error")}`,
  },
  {
    name: "responses-error-event-rate",
    api: "responses",
    body: `${CREATED}${frame({ type: "error", sequence_number: 1, error: { type: "tokens", code: "rate_limit_exceeded", message: "Rate limit reached", param: null } }, "error")}`,
  },
  { name: "responses-no-end", api: "responses", body: CREATED },
];

/** Streams that fail on the way, and ends that are none. */
export const STREAMS: readonly Stream[] = [...CHAT, ...MESSAGES, ...RESPONSES, ...NINTH_STREAMS, ...TENTH_STREAMS];
