import { error, toAnswers, type Row } from "../answer.ts";
import { anthropic, coded, google, openRouter } from "./shapes.ts";

const ROWS: readonly Row[] = [
  [
    "fourth-openai-key",
    401,
    error(
      "Incorrect API key provided: sk-proj-****abcd. You can find your API key in the settings.",
      "invalid_api_key",
    ),
    "auth_failed",
  ],
  [
    "fourth-openai-model",
    404,
    error("The model `gpt-5.9-codex` does not exist or you do not have access to it.", "model_not_found"),
    "model_not_found",
  ],
  [
    "fourth-openai-requests",
    429,
    error(
      "Rate limit reached for gpt-5 on requests per min (RPM): Limit 3, Used 3, Requested 1.",
      "rate_limit_exceeded",
      "requests",
    ),
    "rate_limited",
  ],
  [
    "fourth-openai-length",
    400,
    error(
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300111 tokens.",
      "context_length_exceeded",
    ),
    "context_overflow",
  ],
  [
    "fourth-openai-parameter",
    400,
    error("Unknown parameter: 'reasoning_effort'.", "unknown_parameter"),
    "invalid_request",
  ],
  ["fourth-openai-tool-id", 400, error("No tool output found for function call call_abc.", null), "invalid_request"],
  [
    "fourth-openai-500",
    500,
    error("The server had an error while processing your request. Sorry about that!", "server_error", "server_error"),
    "provider_error",
  ],
  [
    "fourth-azure-key",
    401,
    coded(
      "401",
      "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key.",
    ),
    "auth_failed",
  ],
  [
    "fourth-azure-filter",
    400,
    {
      error: {
        message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        code: "content_filter",
        innererror: {
          code: "ResponsibleAIPolicyViolation",
          content_filter_result: { jailbreak: { filtered: true, detected: true } },
        },
      },
    },
    "content_blocked",
  ],
  [
    "fourth-azure-503",
    503,
    coded("ServiceUnavailable", "The service is temporarily unable to process your request."),
    "provider_error",
  ],
  ["anthropic-fourth-key", 401, anthropic("authentication_error", "invalid bearer token"), "auth_failed"],
  [
    "anthropic-fourth-credit",
    400,
    anthropic(
      "invalid_request_error",
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.",
    ),
    "quota_exceeded",
  ],
  [
    "anthropic-fourth-length",
    400,
    anthropic("invalid_request_error", "prompt is too long: 204123 tokens > 200000 maximum"),
    "context_overflow",
  ],
  [
    "anthropic-fourth-roles",
    400,
    anthropic(
      "invalid_request_error",
      'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
    ),
    "invalid_request",
  ],
  [
    "anthropic-fourth-rate",
    429,
    anthropic(
      "rate_limit_error",
      "This request would exceed the rate limit for your organization of 50 requests per minute.",
    ),
    "rate_limited",
  ],
  ["anthropic-fourth-overloaded", 529, anthropic("overloaded_error", "Overloaded"), "provider_error"],
  [
    "fourth-google-key",
    400,
    google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [{ reason: "API_KEY_INVALID" }]),
    "auth_failed",
  ],
  [
    "fourth-google-model",
    404,
    google(
      404,
      "NOT_FOUND",
      "models/gemini-x is not found for API version v1main, or is not supported for generateContent.",
    ),
    "model_not_found",
  ],
  [
    "fourth-google-busy",
    503,
    google(503, "UNAVAILABLE", "This model is currently experiencing high demand. Please try again later."),
    "provider_error",
  ],
  [
    "fourth-bedrock-throttled",
    429,
    { message: "Too many requests, please wait before trying again. You have sent too many requests." },
    "rate_limited",
  ],
  ["fourth-bedrock-length", 400, { message: "Input is too long for requested model." }, "context_overflow"],
  ["fourth-openrouter-key", 401, openRouter(401, "No auth credentials found"), "auth_failed"],
  [
    "fourth-openrouter-credits",
    402,
    openRouter(
      402,
      "This request requires more credits, or fewer max_tokens. You requested up to 8192 tokens, but can only afford 100.",
    ),
    "quota_exceeded",
  ],
  ["fourth-openrouter-model", 400, openRouter(400, "maker/none is not a valid model ID"), "model_not_found"],
  [
    "fourth-deepseek-key",
    401,
    error("Authentication Fails, Your api key: ****abcd is invalid", "invalid_request_error", "authentication_error"),
    "auth_failed",
  ],
  [
    "fourth-mistral-rate",
    429,
    { object: "error", message: "Requests rate limit exceeded", type: "rate_limited", param: null, code: "1300" },
    "rate_limited",
  ],
  [
    "fourth-xai-credit",
    403,
    { code: "permission-denied", error: "Your team has used all available credits." },
    "quota_exceeded",
  ],
  ["fourth-ollama-model", 404, error("model 'none:latest' not found", null, "not_found_error"), "model_not_found"],
  [
    "fourth-vllm-length",
    400,
    {
      error: {
        message:
          "This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens. Please reduce the length of the input messages.",
        type: "BadRequestError",
        param: "input_tokens",
        code: 400,
      },
    },
    "context_overflow",
  ],
  [
    "fourth-litellm-key",
    401,
    error(
      "Authentication Error, Invalid proxy server token passed. Received API Key = sk-...abcd",
      "401",
      "token_not_found_in_db",
    ),
    "auth_failed",
  ],
  [
    "fourth-nginx-502",
    502,
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx/1.27.1</center></body></html>",
    "provider_error",
  ],
  [
    "fourth-cloudflare-521",
    521,
    "<html><head><title>example.test | 521: Web server is down</title></head><body>Web server is down</body></html>",
    "provider_error",
  ],
];

/** Labelled on 2026-11-23: what the most used makers and servers answer most, in words of this year. */
export const UNSEEN_FOURTH = toAnswers(ROWS);
