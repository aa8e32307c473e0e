import { error, toAnswers, type Row } from "../answer.ts";
import { anthropic, coded, google, openRouter } from "./shapes.ts";

const ROWS: readonly Row[] = [
  [
    "unseen-openai-scopes",
    403,
    error("You have insufficient permissions for this operation. Missing scopes: model.request.", "missing_scope"),
    "auth_failed",
  ],
  [
    "unseen-openai-verify",
    404,
    error(
      "Your organization must be verified to use the model `gpt-9`. Please go to the organization's settings and click on Verify Organization.",
      "model_not_found",
    ),
    "model_not_found",
  ],
  [
    "unseen-openai-image",
    400,
    error(
      "The image data you provided does not represent a valid image. Please check your input and try again with one of the supported formats.",
      "invalid_image_format",
    ),
    "invalid_request",
  ],
  [
    "unseen-openai-schema",
    400,
    error(
      "Invalid schema for response_format 'answer': In context=(), 'additionalProperties' is required to be supplied and to be false.",
      "invalid_json_schema",
    ),
    "invalid_request",
  ],
  [
    "unseen-openai-value",
    400,
    error(
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
      "unsupported_value",
    ),
    "invalid_request",
  ],
  [
    "unseen-openai-hard-limit",
    400,
    error("Billing hard limit has been reached", "billing_hard_limit_reached"),
    "quota_exceeded",
  ],
  [
    "unseen-azure-token",
    401,
    coded("Unauthorized", "Access token is missing, invalid, audience is incorrect, or have expired."),
    "auth_failed",
  ],
  [
    "unseen-azure-volume",
    403,
    coded("403", "Out of call volume quota for OpenAI S0. Quota will be replenished in 3.01:12:24."),
    "quota_exceeded",
  ],
  [
    "unseen-azure-network",
    403,
    coded("AccessDenied", "Access denied due to Virtual Network/Firewall rules."),
    "auth_failed",
  ],
  ["unseen-azure-version", 400, coded("BadRequest", "API version not supported"), "invalid_request"],
  ["unseen-bedrock-expired", 403, { message: "The security token included in the request is expired" }, "auth_failed"],
  ["unseen-bedrock-day", 429, { message: "Too many tokens per day, please wait before trying again." }, "rate_limited"],
  [
    "unseen-bedrock-tools",
    400,
    {
      message:
        "The model returned the following errors: messages.1.content.0: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
    },
    "invalid_request",
  ],
  ["unseen-bedrock-503", 503, { message: "Bedrock is unable to process your request." }, "provider_error"],
  [
    "anthropic-unseen-oauth",
    401,
    anthropic(
      "authentication_error",
      "OAuth token has expired. Please obtain a new token or refresh your existing token.",
    ),
    "auth_failed",
  ],
  [
    "anthropic-unseen-organization",
    403,
    anthropic("permission_error", "OAuth authentication is currently not allowed for this organization."),
    "auth_failed",
  ],
  [
    "anthropic-unseen-minute",
    429,
    anthropic("rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit."),
    "rate_limited",
  ],
  [
    "anthropic-unseen-image",
    400,
    anthropic(
      "invalid_request_error",
      "messages.0.content.1.image.source.base64.data: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
    ),
    "invalid_request",
  ],
  [
    "unseen-google-expired",
    400,
    google(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", [{ reason: "API_KEY_INVALID" }]),
    "auth_failed",
  ],
  [
    "unseen-google-leaked",
    403,
    google(403, "PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key."),
    "auth_failed",
  ],
  [
    "unseen-google-internal",
    500,
    google(500, "INTERNAL", "An internal error has occurred. Please retry or report in the troubleshooting guide."),
    "provider_error",
  ],
  [
    "unseen-google-prepaid",
    429,
    google(
      429,
      "RESOURCE_EXHAUSTED",
      "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.",
    ),
    "quota_exceeded",
    "rate_limited",
  ],
  ["unseen-openrouter-user", 401, openRouter(401, "User not found."), "auth_failed"],
  [
    "unseen-openrouter-credits",
    402,
    openRouter(402, "Insufficient credits. Add more using the page of credits."),
    "quota_exceeded",
  ],
  [
    "unseen-openrouter-tools",
    404,
    openRouter(404, "No endpoints found that support tool use. To learn more about provider routing, see the docs."),
    "model_not_found",
  ],
  [
    "unseen-openrouter-upstream-rate",
    429,
    openRouter(
      429,
      "Provider returned error",
      "maker/model:free is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits.",
    ),
    "rate_limited",
  ],
  [
    "unseen-openrouter-upstream-context",
    400,
    openRouter(
      400,
      "Provider returned error",
      '{"error":{"message":"This model\'s maximum context length is 32768 tokens. However, you requested 40000 tokens.","type":"BadRequestError","code":400}}',
    ),
    "context_overflow",
  ],
  [
    "unseen-groq-decommissioned",
    400,
    error(
      "The model `llama-70b` has been decommissioned and is no longer supported. Please refer to the page of deprecations for a recommendation on which model to use instead.",
      "model_decommissioned",
    ),
    "model_not_found",
  ],
  [
    "unseen-groq-length",
    400,
    error("Please reduce the length of the messages or completion.", "context_length_exceeded"),
    "context_overflow",
  ],
  [
    "unseen-together-tokens",
    422,
    error(
      "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens and 512 `max_new_tokens`",
    ),
    "context_overflow",
  ],
  [
    "unseen-together-model",
    404,
    error("Unable to access model foo. Please visit the list of supported models.", "model_not_available"),
    "model_not_found",
  ],
  [
    "unseen-fireworks-suspended",
    412,
    error(
      "Account mine is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.",
    ),
    "quota_exceeded",
  ],
  [
    "unseen-fireworks-model",
    404,
    error("Model not found, inaccessible, and/or not deployed", "NOT_FOUND"),
    "model_not_found",
  ],
  [
    "unseen-cohere-tokens",
    400,
    {
      message:
        "too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 140000. Try using a shorter prompt.",
    },
    "context_overflow",
  ],
  [
    "unseen-huggingface-credits",
    402,
    { error: "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get more." },
    "quota_exceeded",
  ],
  [
    "unseen-huggingface-loading",
    503,
    { error: "Model foo is currently loading", estimated_time: 20 },
    "provider_error",
  ],
  [
    "unseen-huggingface-model",
    400,
    error("The requested model 'foo' is not supported by any provider you have enabled.", "model_not_supported"),
    "model_not_found",
  ],
  [
    "unseen-github-day",
    429,
    coded("RateLimitReached", "Rate limit of 50 per 86400s exceeded for UserByModelByDay. Please wait 3000 seconds."),
    "rate_limited",
  ],
  [
    "unseen-vllm-tool-choice",
    400,
    error(
      '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
      400,
      "BadRequestError",
    ),
    "invalid_request",
  ],
  [
    "unseen-sglang-length",
    400,
    {
      object: "error",
      message: "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
      type: "BadRequestError",
      code: 400,
    },
    "context_overflow",
  ],
  [
    "unseen-ollama-runner",
    500,
    error("llama runner process has terminated: exit status 2", null, "api_error"),
    "provider_error",
  ],
  [
    "unseen-volcengine-overdue",
    403,
    coded("AccountOverdueError", "The request failed because your account has an overdue balance. Request id: 1"),
    "quota_exceeded",
  ],
  [
    "unseen-volcengine-sensitive",
    400,
    coded("SensitiveContentDetected", "The request failed because the input text may contain sensitive information."),
    "content_blocked",
  ],
  [
    "unseen-volcengine-model",
    404,
    coded(
      "InvalidEndpointOrModel.NotFound",
      "The model or endpoint foo does not exist or you do not have access to it.",
    ),
    "model_not_found",
  ],
  [
    "unseen-siliconflow-balance",
    403,
    { code: 30_001, message: "Sorry, your account balance is insufficient", data: null },
    "quota_exceeded",
  ],
  ["unseen-kong-rate", 429, { message: "API rate limit exceeded" }, "rate_limited"],
  [
    "unseen-squid-denied",
    403,
    "<html><head><title>ERROR: The requested URL could not be retrieved</title></head><body><h2>Access Denied.</h2><p>Access control configuration prevents your request from being allowed at this time.</p></body></html>",
    "auth_failed",
  ],
  ["unseen-cloudflare-1033", 530, "error code: 1033", "provider_error"],
];

/** Labelled on 2026-11-23, before any rule was tried on them. docs/replaying.md says what came of it. */
export const UNSEEN_FIRST = toAnswers(ROWS);
