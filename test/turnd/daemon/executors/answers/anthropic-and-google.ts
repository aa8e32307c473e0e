import { toAnswers, type Row } from "./answer.ts";

const anthropic = (type: string, message: string): unknown => ({
  type: "error",
  error: { type, message },
  request_id: "req_1",
});
const google = (code: number, status: string, message: string, details?: unknown[]): unknown => ({
  error: { code, message, status, ...(details === undefined ? {} : { details }) },
});

const ANTHROPIC: readonly Row[] = [
  ["anthropic-bad-key", 401, anthropic("authentication_error", "invalid x-api-key"), "auth_failed"],
  [
    "anthropic-no-permission",
    403,
    anthropic("permission_error", "Your API key does not have permission to use the specified resource."),
    "auth_failed",
  ],
  ["anthropic-no-model", 404, anthropic("not_found_error", "model: claude-foo"), "model_not_found"],
  [
    "anthropic-max-tokens",
    400,
    anthropic(
      "invalid_request_error",
      "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens",
    ),
    "invalid_request",
  ],
  [
    "anthropic-prompt-too-long",
    400,
    anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "context_overflow",
  ],
  [
    "anthropic-context-limit",
    400,
    anthropic(
      "invalid_request_error",
      "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again",
    ),
    "context_overflow",
  ],
  [
    "anthropic-too-large",
    413,
    anthropic("request_too_large", "Request exceeds the maximum size"),
    "context_overflow",
    "invalid_request",
  ],
  [
    "anthropic-no-credit",
    400,
    anthropic(
      "invalid_request_error",
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    "quota_exceeded",
  ],
  [
    "anthropic-usage-limit",
    400,
    anthropic(
      "invalid_request_error",
      "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
    ),
    "quota_exceeded",
  ],
  [
    "anthropic-filter",
    400,
    anthropic("invalid_request_error", "Output blocked by content filtering policy"),
    "content_blocked",
  ],
  [
    "anthropic-rate",
    429,
    anthropic(
      "rate_limit_error",
      "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
    ),
    "rate_limited",
  ],
  ["anthropic-api-error", 500, anthropic("api_error", "Internal server error"), "provider_error"],
  ["anthropic-overloaded", 529, anthropic("overloaded_error", "Overloaded"), "provider_error"],
];

const GOOGLE: readonly Row[] = [
  [
    "google-bad-key",
    400,
    google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [{ reason: "API_KEY_INVALID" }]),
    "auth_failed",
  ],
  [
    "google-bad-key-list",
    400,
    [
      google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
        { reason: "API_KEY_INVALID" },
      ]),
    ],
    "auth_failed",
  ],
  [
    "google-location",
    400,
    google(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
    "invalid_request",
  ],
  [
    "google-context",
    400,
    google(
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "context_overflow",
  ],
  [
    "google-output-tokens",
    400,
    google(400, "INVALID_ARGUMENT", "Invalid value at 'generation_config.max_output_tokens' (TYPE_INT32), \"many\""),
    "invalid_request",
  ],
  [
    "google-permission",
    403,
    google(403, "PERMISSION_DENIED", "Permission denied on resource project quota-tests."),
    "auth_failed",
  ],
  [
    "google-billing",
    403,
    google(
      403,
      "PERMISSION_DENIED",
      "This API method requires billing to be enabled. Please enable billing on project #1 by visiting https://console.developers.google.com/billing/enable",
    ),
    "quota_exceeded",
  ],
  [
    "google-no-model",
    404,
    google(
      404,
      "NOT_FOUND",
      "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.",
    ),
    "model_not_found",
  ],
  [
    "google-per-minute",
    429,
    google(
      429,
      "RESOURCE_EXHAUSTED",
      "Quota exceeded for quota metric 'Generate Content API requests per minute' and limit 'GenerateContent request limit per minute for a region' of service 'generativelanguage.googleapis.com'.",
    ),
    "rate_limited",
  ],
  [
    "google-retry-soon",
    429,
    google(
      429,
      "RESOURCE_EXHAUSTED",
      "You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: generate_content_free_tier_requests, limit: 10\nPlease retry in 35.4s.",
    ),
    "rate_limited",
  ],
  [
    "google-daily",
    429,
    google(
      429,
      "RESOURCE_EXHAUSTED",
      "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
    ),
    "quota_exceeded",
    "rate_limited",
  ],
  [
    "vertex-busy",
    429,
    google(429, "RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later."),
    "rate_limited",
  ],
  [
    "google-overloaded",
    503,
    google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "provider_error",
  ],
];

/** What Anthropic and Google answer. */
export const ANTHROPIC_AND_GOOGLE = toAnswers([...ANTHROPIC, ...GOOGLE]);
