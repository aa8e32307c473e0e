import { wholeFile, type CliBCase } from "./case.ts";
import { broken, failed, page, refusal, text } from "./replies.ts";
import { END, fine, json, refuses } from "./unseen-tenth-parts.ts";

const PLAIN = { "content-type": "text/plain" };
const NGINX = (title: string): string =>
  `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>nginx/1.25.3</center>\r\n</body>\r\n</html>\r\n`;
/** A file whose provider is asked once. */
const ONCE = wholeFile()
  .replace("request_max_retries = 1", "request_max_retries = 0")
  .replace("stream_max_retries = 1", "stream_max_retries = 0");

/** Refusals and faults of providers, in their makers' words. */
export const TENTH_PROVIDER: readonly CliBCase[] = [
  refuses(
    "key-openrouter",
    "auth_failed",
    "401 of OpenRouter",
    json(401, { error: { message: "No auth credentials found", code: 401 } }),
  ),
  refuses(
    "key-groq-once",
    "auth_failed",
    "401 of Groq, asked once",
    json(401, { error: { message: "Invalid API Key", type: "invalid_request_error", code: "invalid_api_key" } }),
    { variables: { toml: ONCE } },
  ),
  refuses(
    "key-region",
    "auth_failed",
    "403 of Google",
    json(403, {
      error: {
        code: 403,
        message: "Permission denied: Consumer 'api_key:FAKE' has been suspended.",
        status: "PERMISSION_DENIED",
      },
    }),
  ),
  refuses(
    "flagged-prompt",
    "content_blocked",
    "the prompt is flagged in a stream",
    broken(
      failed(
        "invalid_prompt",
        "Your request was flagged as potentially violating our usage policy. Please try again with a different prompt.",
      ),
    ),
  ),
  refuses(
    "context-azure",
    "context_overflow",
    "400 with the code, in the words of Azure",
    refusal(400, {
      message:
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 131542 tokens (130210 in the messages, 1332 in the functions). Please reduce the length of the messages or functions.",
      code: "context_length_exceeded",
    }),
  ),
  refuses(
    "context-llama-server",
    "context_overflow",
    "400 of llama.cpp",
    json(400, {
      error: {
        code: 400,
        message: "the request exceeds the available context size, try increasing it",
        type: "exceed_context_size_error",
        n_prompt_tokens: 40123,
        n_ctx: 32768,
      },
    }),
  ),
  refuses(
    "no-such-path-spring",
    "executor_unavailable",
    "404 of a server that has no such path",
    json(404, { timestamp: "2026-11-25T20:11:09.512+00:00", status: 404, error: "Not Found", path: "/v1/responses" }),
  ),
  refuses(
    "method-not-allowed-fastapi",
    "executor_unavailable",
    "405 of FastAPI",
    json(405, { detail: "Method Not Allowed" }, { allow: "GET" }),
  ),
  refuses(
    "not-implemented-go",
    "executor_unavailable",
    "501 in plain words",
    page(501, "responses endpoint is not implemented by this backend\n", PLAIN),
    { label: { also: ["provider_error"] } },
  ),
  refuses(
    "a-chat-completion",
    "executor_unavailable",
    "200 with a whole answer of another API",
    json(200, {
      id: "chatcmpl-9",
      object: "chat.completion",
      model: "m1",
      choices: [{ index: 0, message: { role: "assistant", content: "Hi." }, finish_reason: "stop" }],
    }),
    { label: { also: ["network_error", "provider_error"] } },
  ),
  refuses(
    "parameter-missing",
    "invalid_request",
    "400 for a parameter that is missing",
    refusal(400, { message: "Missing required parameter: 'input[3].call_id'.", code: "missing_required_parameter" }),
  ),
  refuses(
    "last-message-of-failure",
    "invalid_request",
    "400 without a code, while the last message is to be put into a file",
    json(400, {
      error: {
        message: "tool_choice 'auto' needs --enable-auto-tool-choice to be set",
        type: "BadRequestError",
        param: null,
        code: 400,
      },
    }),
    {
      args: (args, { workspace }) => [
        ...args.slice(0, 1),
        "--output-last-message",
        `${workspace}/out.txt`,
        ...args.slice(1),
      ],
    },
  ),
  refuses(
    "model-fireworks",
    "model_not_found",
    "404 of Fireworks",
    json(404, {
      error: {
        object: "error",
        type: "invalid_request_error",
        code: "NOT_FOUND",
        message: "Model not found, inaccessible, and/or not deployed",
      },
    }),
  ),
  refuses(
    "model-cerebras",
    "model_not_found",
    "404 of Cerebras",
    json(404, {
      message: "Model llama-4-none does not exist or you do not have access to it.",
      type: "not_found_error",
      param: "model",
      code: "model_not_found",
    }),
  ),
  refuses("port-closed", "network_error", "nothing listens at another port", END, {
    variables: { CLI_B_BASE_URL: "http://127.0.0.1:1/openai/v1" },
  }),
  refuses(
    "closed-after-text",
    "network_error",
    "every stream is closed behind a message",
    broken("close", text("Half way")),
    {
      label: { text: "Half way" },
    },
  ),
  refuses("reset-every-time", "network_error", "every stream is reset at once", broken("reset")),
  refuses("tls-to-plain", "network_error", "TLS to a server that speaks none", END, {
    prepare: ({ shell: run, codexHome }) => run(`sed -i 's#http://127#https://127#' ${codexHome}/config.toml`),
  }),
  refuses("host-unknown", "network_error", "a host whose name nobody knows", END, {
    variables: { CLI_B_BASE_URL: "http://gateway.team-ml.invalid/openai/v1" },
  }),
  refuses(
    "error-500-anthropic",
    "provider_error",
    "500 in the words of Anthropic",
    json(500, { type: "error", error: { type: "api_error", message: "Internal server error" }, request_id: "req_011" }),
  ),
  refuses(
    "error-503-nginx",
    "provider_error",
    "503 with nginx's page",
    page(503, NGINX("503 Service Temporarily Unavailable")),
  ),
  refuses(
    "overloaded-in-stream",
    "provider_error",
    "overloaded in a stream, behind a text",
    broken(
      failed("server_is_overloaded", "The engine is currently overloaded, please try again later"),
      text("Let me see."),
    ),
    { label: { text: "Let me see.", also: ["rate_limited"] } },
  ),
  refuses(
    "error-500-once",
    "provider_error",
    "500 of vLLM, asked once",
    json(500, {
      object: "error",
      message: "EngineCore encountered an issue. See stack trace (above) for the root cause.",
      type: "InternalServerError",
      param: null,
      code: 500,
    }),
    { variables: { toml: ONCE } },
  ),
  refuses(
    "credits-openrouter",
    "quota_exceeded",
    "402 of OpenRouter",
    json(402, {
      error: {
        message:
          "This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 2666. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account",
        code: 402,
        metadata: { provider_name: null },
      },
    }),
  ),
  refuses(
    "quota-in-stream",
    "quota_exceeded",
    "the quota ends in a stream",
    broken(
      failed(
        "insufficient_quota",
        "You exceeded your current quota. For more information on this error, read the docs.",
      ),
    ),
  ),
  refuses(
    "rate-groq",
    "rate_limited",
    "429 of Groq",
    json(429, {
      error: {
        message:
          "Rate limit reached for model `m1` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 8000, Used 7000, Requested 2250. Please try again in 9.375s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
        type: "tokens",
        code: "rate_limit_exceeded",
      },
    }),
    { label: { also: ["quota_exceeded"] } },
  ),
  refuses(
    "rate-in-stream",
    "rate_limited",
    "a rate limit in a stream",
    broken(
      failed(
        "rate_limit_exceeded",
        "Rate limit reached for m1 in organization org-1 on requests per min (RPM): Limit 3, Used 3, Requested 1.",
      ),
    ),
  ),
  {
    name: "tenth-rate-then-answered",
    label: fine("a 429 of DeepInfra with Retry-After: 1, then an answer"),
    replies: [
      refusal(429, { message: "Model busy, retry later", code: "rate_limit_exceeded" }, { "retry-after": "1" }),
      END,
    ],
  },
];
