import { error, toAnswers, type Row } from "./answer.ts";

const page = (status: string, words: string, by = "nginx/1.24.0"): string =>
  `<html>\r\n<head><title>${status}</title></head>\r\n<body>\r\n<center><h1>${words}</h1></center>\r\n<hr><center>${by}</center>\r\n</body>\r\n</html>\r\n`;
const openRouter = (code: number, message: string, metadata?: unknown): unknown => ({
  error: { message, code, ...(metadata === undefined ? {} : { metadata }) },
  user_id: "user_1",
});

const HOSTED: readonly Row[] = [
  [
    "openrouter-credits",
    402,
    openRouter(
      402,
      "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 1234.",
    ),
    "quota_exceeded",
  ],
  ["openrouter-no-endpoints", 404, openRouter(404, "No endpoints found for foo/bar."), "model_not_found"],
  ["openrouter-no-model", 400, openRouter(400, "foo/bar is not a valid model ID"), "model_not_found"],
  [
    "openrouter-moderation",
    403,
    openRouter(403, 'openai/gpt-4o requires moderation on OpenAI. Your input was flagged for "violence".', {
      reasons: ["violence"],
    }),
    "content_blocked",
  ],
  ["openrouter-key-limit", 403, openRouter(403, "Key limit exceeded (total limit)."), "quota_exceeded"],
  [
    "openrouter-rate",
    429,
    openRouter(
      429,
      "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day",
    ),
    "rate_limited",
  ],
  [
    "openrouter-context",
    400,
    openRouter(
      400,
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens. Please reduce the length of either one.",
    ),
    "context_overflow",
  ],
  ["openrouter-upstream", 502, openRouter(502, "Provider returned error"), "provider_error"],
  ["openrouter-timeout", 408, openRouter(408, "Request timed out"), "provider_timeout"],
  [
    "groq-per-day",
    429,
    error(
      "Rate limit reached for model `llama` in organization `org` on tokens per day (TPD): Limit 100000, Used 99900. " +
        "Please try again in 2m52s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
      "rate_limit_exceeded",
      "tokens",
    ),
    "rate_limited",
  ],
  [
    "groq-too-large",
    413,
    error(
      "Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 12000, please reduce your message size and try again.",
      "rate_limit_exceeded",
      "tokens",
    ),
    "context_overflow",
    "invalid_request",
  ],
  [
    "groq-tool-call",
    400,
    error("Failed to call a function. Please adjust your prompt.", "tool_use_failed"),
    "invalid_request",
  ],
];

const LOCAL: readonly Row[] = [
  [
    "litellm-bad-key",
    401,
    error("Authentication Error, Invalid proxy server token passed.", "401", "token_not_found_in_db"),
    "auth_failed",
  ],
  [
    "litellm-budget",
    400,
    error("Budget has been exceeded! Current cost: 12.1, Max budget: 10.0", "400", "budget_exceeded"),
    "quota_exceeded",
  ],
  [
    "litellm-no-model",
    400,
    error(
      "/chat/completions: Invalid model name passed in model=foo. Call `/v1/models` to view available models for your key.",
      "400",
    ),
    "model_not_found",
  ],
  [
    "litellm-context",
    400,
    error("litellm.ContextWindowExceededError: litellm.BadRequestError: too many", "400"),
    "context_overflow",
  ],
  [
    "litellm-policy",
    400,
    error("litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException", "400"),
    "content_blocked",
  ],
  [
    "litellm-cooldown",
    429,
    error("No deployments available for selected model, Try again in 60 seconds.", "429"),
    "rate_limited",
  ],
  [
    "vllm-no-model",
    404,
    { object: "error", message: "The model `foo` does not exist.", type: "NotFoundError", param: null, code: 404 },
    "model_not_found",
  ],
  [
    "vllm-context",
    400,
    {
      object: "error",
      message: "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
      type: "BadRequestError",
      code: 400,
    },
    "context_overflow",
  ],
  ["ollama-no-model", 404, error('model "foo" not found, try pulling it first', null, "api_error"), "model_not_found"],
  [
    "ollama-no-tools",
    400,
    error("registry.ollama.ai/library/foo:latest does not support tools", null),
    "invalid_request",
  ],
  [
    "ollama-memory",
    500,
    error("model requires more system memory (5.6 GiB) than is available (3.1 GiB)", null, "api_error"),
    "provider_error",
  ],
  [
    "llamacpp-context",
    400,
    {
      error: {
        code: 400,
        message: "the request exceeds the available context size, try increasing it",
        type: "exceed_context_size_error",
      },
    },
    "context_overflow",
  ],
  [
    "llamacpp-loading",
    503,
    { error: { code: 503, message: "Loading model", type: "unavailable_error" } },
    "provider_error",
  ],
  [
    "lmstudio-context",
    400,
    {
      error:
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
    },
    "context_overflow",
  ],
  ["fastapi-no-api", 404, { detail: "Not Found" }, "model_not_found", "executor_unavailable"],
];

const PROXIES: readonly Row[] = [
  ["nginx-400", 400, page("400 Bad Request", "400 Bad Request"), "invalid_request"],
  ["nginx-401", 401, page("401 Authorization Required", "401 Authorization Required"), "auth_failed"],
  [
    "cloudflare-blocked",
    403,
    "<html><body><h1>Sorry, you have been blocked</h1>Cloudflare Ray ID: 1</body></html>",
    "auth_failed",
  ],
  ["nginx-404", 404, page("404 Not Found", "404 Not Found"), "model_not_found", "executor_unavailable"],
  ["nginx-409", 409, page("409 Conflict", "409 Conflict"), "invalid_request"],
  [
    "nginx-413",
    413,
    page("413 Request Entity Too Large", "413 Request Entity Too Large"),
    "context_overflow",
    "invalid_request",
  ],
  ["nginx-502", 502, page("502 Bad Gateway", "502 Bad Gateway"), "provider_error"],
  [
    "envoy-503",
    503,
    "upstream connect error or disconnect/reset before headers. reset reason: connection failure",
    "provider_error",
  ],
  ["nginx-504", 504, page("504 Gateway Time-out", "504 Gateway Time-out"), "provider_error"],
  ["cloudflare-520", 520, "error code: 520", "provider_error"],
  ["cloudflare-522", 522, page("522: Connection timed out", "Connection timed out", "cloudflare"), "provider_error"],
  ["cloudflare-524", 524, page("524: A timeout occurred", "A timeout occurred", "cloudflare"), "provider_error"],
  ["empty-400", 400, "", "invalid_request"],
  ["plain-400", 400, "Bad Request", "invalid_request"],
  ["empty-401", 401, "", "auth_failed"],
  ["empty-403", 403, "", "auth_failed"],
  ["empty-429", 429, "", "rate_limited"],
  ["empty-503", 503, "", "provider_error"],
];

/** What stands between: services that hand on, local servers and proxies. */
export const GATEWAYS = toAnswers([...HOSTED, ...LOCAL, ...PROXIES]);
