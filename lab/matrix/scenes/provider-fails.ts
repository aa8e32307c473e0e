import { currentTurn } from "../../../src/scripted-model/conversation.ts";
import { say } from "../../../src/scripted-model/reply.ts";
import { bash, failed, refusal, thenAnswer, type Scene, type SceneConfig } from "../scene.ts";

const RATE = { message: "Rate limit reached for requests. Please try again in 2s.", code: "rate_limit_exceeded" };
/** Two failed requests show what goes wrong; the six of 1.18.33 take more than a minute. */
const SECOND_FAILURE = { shows: /message="stream error"|isRetryable":true/g, times: 2 } as const;
const KILLED = { ...SECOND_FAILURE, signal: "SIGKILL", endedBy: "idle_timeout" } as const;
const OVERFLOW = { code: "context_length_exceeded", message: "Your input exceeds the context window of this model." };

const options =
  (more: Readonly<Record<string, unknown>>) =>
  ({ provider }: SceneConfig): void =>
    void Object.assign(provider.lab.options, more);

/** Turns that fail for what the provider does. */
export const PROVIDER_FAILS: readonly Scene[] = [
  {
    name: "bad-key",
    script: refusal(401, { message: "Incorrect API key provided: sk-bad.", code: "invalid_api_key" }),
    label: failed("auth_failed", "401"),
  },
  {
    name: "bad-key-after-tool",
    script: (conversation, cue) =>
      currentTurn(conversation).outcomes.length === 0
        ? { type: "answer", parts: [bash("echo tool-ok")], ending: "stop" }
        : refusal(401, { message: "Incorrect API key provided: sk-bad." })(conversation, cue),
    label: failed("auth_failed", "401 for the second request", { toolCalls: 1 }),
  },
  {
    name: "anthropic-bad-key",
    api: "messages",
    provider: "messages-bad-key",
    label: failed("auth_failed", "401 inside a stream"),
  },
  {
    name: "forbidden",
    script: refusal(403, { message: "Project does not have access." }),
    label: failed("auth_failed", "403"),
  },
  {
    name: "proxy-wants-login",
    script: refusal(407, "<html><head><title>407 Proxy Authentication Required</title></head></html>"),
    label: failed("auth_failed", "407 of a proxy"),
  },
  ...(
    [
      ["quota", 400, "quota_exceeded", "Wallet is empty."],
      ["content", 400, "content_blocked", "Potential self-harm content detected."],
      [
        "context",
        400,
        "context_overflow",
        "Message history of 412 entries totals 260123 tokens; the ceiling is 200000.",
      ],
      ["model", 400, "model_not_found", "m is not one of the models that this endpoint serves."],
      ["key", 400, "auth_failed", "This API key was rotated; use the newest one."],
      ["quota-403", 403, "quota_exceeded", "Invoice 2231 has not been paid. Access is paused."],
      ["content-403", 403, "content_blocked", "Explicit material is not welcome here."],
    ] as const
  ).map(([name, status, code, message]): Scene => ({
    name: `refused-in-prose-${name}`,
    script: refusal(status, { message }),
    label: failed(code, `${status} in a sentence of no maker`),
  })),
  {
    name: "model-gone",
    script: refusal(410, { message: "m is gone." }),
    label: failed("model_not_found", "410"),
  },
  {
    name: "request-too-large-in-stream",
    provider: "messages-sixth-size",
    api: "messages",
    label: failed("context_overflow", "the code of a request that is too large, inside a stream"),
  },
  {
    name: "no-key",
    api: "messages",
    config: ({ provider }) => void delete provider.lab.options["apiKey"],
    label: failed("credential_missing", "the configuration has no key"),
  },
  {
    name: "no-credit",
    script: refusal(402, { message: "Insufficient Balance" }),
    label: failed("quota_exceeded", "402"),
  },
  {
    name: "quota-exceeded-until-killed",
    script: refusal(429, {
      message: "You exceeded your current quota, please check your plan and billing details.",
      code: "insufficient_quota",
    }),
    stop: KILLED,
    label: failed("quota_exceeded", "429 insufficient_quota, retried", { also: ["idle_timeout", "rate_limited"] }),
  },
  {
    name: "rate-limited",
    script: refusal(429, RATE),
    label: failed("rate_limited", "429 until the CLI gives up by itself"),
  },
  {
    name: "rate-limited-retry-after-until-killed",
    script: refusal(429, RATE, { "retry-after": "3600" }),
    stop: { ...KILLED, times: 1 },
    label: failed("rate_limited", "429 with retry-after: one request, then an hour of waiting", {
      also: ["idle_timeout"],
    }),
  },
  {
    name: "rate-limited-without-words-until-killed",
    script: refusal(429, "slow"),
    stop: KILLED,
    label: failed("rate_limited", "429 with a body that is no error", { also: ["idle_timeout"] }),
  },
  {
    name: "model-unknown-at-provider",
    script: refusal(404, {
      message: "The model `m` does not exist or you do not have access to it.",
      code: "model_not_found",
    }),
    label: failed("model_not_found", "404 model_not_found"),
  },
  {
    name: "bad-request",
    script: refusal(400, { message: "Unsupported parameter: 'max_tokens'.", code: "unsupported_parameter" }),
    label: failed("invalid_request", "400"),
  },
  {
    name: "request-refused-in-stream",
    api: "messages",
    provider: "messages-unseen-order",
    label: failed("invalid_request", "invalid_request_error inside a stream"),
  },
  {
    name: "image-too-large-until-killed",
    script: refusal(400, {
      message: "messages.0.content.1.image.source: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
      type: "invalid_request_error",
    }),
    stop: KILLED,
    label: failed("invalid_request", "400 for an image, taken for an overflow and repeated", {
      also: ["idle_timeout"],
    }),
  },
  {
    name: "context-overflow",
    script: refusal(400, OVERFLOW),
    label: failed("context_overflow", "every request is too long, a summary too"),
  },
  {
    name: "prompt-filtered",
    script: refusal(400, {
      message: "The response was filtered due to the prompt triggering content management policy.",
      code: "content_filter",
    }),
    label: failed("content_blocked", "400 content_filter"),
  },
  {
    name: "content-filtered",
    script: () => say("Half an", "content-filter"),
    label: failed("content_blocked", "finish reason content_filter", { finalText: "Half an" }),
  },
  {
    name: "anthropic-refusal",
    api: "messages",
    provider: "messages-refusal",
    label: failed("content_blocked", "stop reason refusal", { finalText: "Hel" }),
  },
  {
    name: "output-limit",
    script: () => say("Half an", "length"),
    label: failed("output_limit", "finish reason length", { finalText: "Half an" }),
  },
  {
    name: "provider-error",
    script: refusal(500, { message: "The server had an error while processing your request.", type: "server_error" }),
    label: failed("provider_error", "500 until the CLI gives up by itself"),
  },
  {
    name: "provider-error-page-until-killed",
    script: refusal(503, "<html><body><h1>503 Service Temporarily Unavailable</h1></body></html>"),
    stop: KILLED,
    label: failed("provider_error", "503 with a page", { also: ["idle_timeout"] }),
  },
  {
    name: "overloaded-in-stream-until-killed",
    api: "messages",
    provider: "messages-overloaded",
    stop: KILLED,
    label: failed("provider_error", "overloaded_error inside a stream", { also: ["idle_timeout"] }),
  },
  {
    name: "rate-limited-in-stream-until-killed",
    provider: "chat-rate-limit",
    stop: KILLED,
    label: failed("rate_limited", "rate_limit_exceeded inside a stream", { also: ["idle_timeout"] }),
  },
  {
    name: "quota-exceeded-in-stream",
    provider: "chat-quota",
    stop: { ...KILLED, times: 2 },
    label: failed("quota_exceeded", "insufficient_quota inside a stream", { also: ["idle_timeout"] }),
  },
  {
    name: "error-in-stream",
    provider: "chat-words",
    stop: KILLED,
    label: failed("provider_error", "an error in words alone inside a stream", { also: ["idle_timeout"] }),
  },
  {
    name: "stream-cut",
    script: () => say("This breaks off", "cut"),
    label: failed("network_error", "every stream is cut, until the CLI gives up by itself", {
      also: ["provider_error"],
    }),
  },
  {
    name: "stream-cut-until-killed",
    script: () => say("This breaks off", "cut"),
    stop: { shows: /"step_start"/g, times: 3, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("network_error", "three streams are cut", { also: ["idle_timeout", "provider_error"] }),
  },
  {
    name: "stream-cut-before-text-until-killed",
    provider: "reset-at-once",
    stop: KILLED,
    label: failed("network_error", "every connection is reset", { also: ["idle_timeout", "provider_error"] }),
  },
  {
    name: "connection-refused",
    provider: "refused",
    label: failed("network_error", "nothing listens; the CLI gives up by itself"),
  },
  {
    name: "no-such-host-until-killed",
    provider: "no-such-host",
    stop: KILLED,
    label: failed("network_error", "the host's name is unknown", { also: ["idle_timeout"] }),
  },
  {
    name: "no-tls-until-killed",
    provider: "no-tls",
    stop: KILLED,
    label: failed("network_error", "https where plain http is spoken", { also: ["idle_timeout", "config_invalid"] }),
  },
  {
    name: "base-url-invalid",
    provider: "no-url",
    stop: KILLED,
    label: failed("config_invalid", "the address is no URL", { also: ["network_error"] }),
  },
  {
    name: "provider-timeout",
    config: options({ timeout: 2000 }),
    script: () => ({ type: "hang" }),
    label: failed("provider_timeout", "no headers within options.timeout"),
  },
  {
    name: "provider-stalls",
    config: options({ chunkTimeout: 1000 }),
    script: () => say("This stops", "stall"),
    label: failed("provider_timeout", "a pause longer than chunkTimeout, until the CLI gives up by itself"),
  },
  {
    name: "answer-is-no-stream",
    script: () => ({ type: "page", html: "<html><body>Sign in to the network</body></html>" }),
    stop: { shows: /"step_finish"/g, times: 7, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("provider_error", "a page in place of a stream, asked for without end", {
      also: ["idle_timeout", "output_incomplete"],
    }),
  },
  {
    name: "no-finish-reason",
    script: () => say("An answer without an end.", "none"),
    stop: { shows: /"step_finish"/g, times: 7, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("provider_error", "answers that end without a reason, asked for without end", {
      also: ["idle_timeout", "output_incomplete"],
      finalText: "An answer without an end.",
    }),
  },
  { name: "malformed-stream", provider: "chat-malformed", label: failed("provider_error", "a frame that is no JSON") },
  {
    name: "redirected",
    provider: "redirect",
    stop: KILLED,
    label: failed("network_error", "a redirect to a login page that is not there", {
      also: ["idle_timeout", "provider_error"],
    }),
  },
  {
    name: "no-credit-in-words",
    script: refusal(400, { message: "Your credit balance is too low to access the API." }),
    label: failed("quota_exceeded", "a 400 that says so"),
  },
  {
    name: "rate-limited-then-refused",
    script: thenAnswer(refusal(429, RATE), 1, refusal(401, { message: "Incorrect API key provided." })),
    label: failed("auth_failed", "one 429, then a 401"),
  },
  {
    name: "hangs-until-killed",
    script: () => ({ type: "hang" }),
    stop: { asked: 1, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("idle_timeout", "a request that is never answered"),
  },
];
