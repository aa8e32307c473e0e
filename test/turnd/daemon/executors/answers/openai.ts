import { error, toAnswers, type Row } from "./answer.ts";

const ROWS: readonly Row[] = [
  ["openai-bad-key", 401, error("Incorrect API key provided: sk-bad.", "invalid_api_key"), "auth_failed"],
  ["openai-no-member", 401, error("You must be a member of an organization to use the API"), "auth_failed"],
  [
    "openai-country",
    403,
    error("Country, region, or territory not supported", "unsupported_country_region_territory", "request_forbidden"),
    "auth_failed",
  ],
  [
    "openai-no-model",
    404,
    error("The model `gpt-9` does not exist or you do not have access to it.", "model_not_found"),
    "model_not_found",
  ],
  ["openai-model-400", 400, error("The requested model 'gpt-9' does not exist.", "model_not_found"), "model_not_found"],
  [
    "openai-wrong-path",
    404,
    error("Invalid URL (POST /v1/chat/completions)"),
    "model_not_found",
    "executor_unavailable",
  ],
  [
    "openai-tokens-parameter",
    400,
    error(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      "unsupported_parameter",
    ),
    "invalid_request",
  ],
  [
    "openai-context",
    400,
    error(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      "context_length_exceeded",
    ),
    "context_overflow",
  ],
  [
    "openai-context-words",
    400,
    error("Your input exceeds the context window of this model. Please adjust your input and try again."),
    "context_overflow",
  ],
  [
    "openai-policy",
    400,
    error("Your request was rejected as a result of our safety system.", "content_policy_violation"),
    "content_blocked",
  ],
  [
    "openai-prompt-flagged",
    400,
    error("Invalid prompt: your prompt was flagged as potentially violating our usage policy.", "invalid_prompt"),
    "content_blocked",
  ],
  [
    "openai-rate",
    429,
    error(
      "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 20000.",
      "rate_limit_exceeded",
      "tokens",
    ),
    "rate_limited",
  ],
  [
    "openai-quota",
    429,
    error(
      "You exceeded your current quota, please check your plan and billing details.",
      "insufficient_quota",
      "insufficient_quota",
    ),
    "quota_exceeded",
    "rate_limited",
  ],
  [
    "openai-inactive",
    429,
    error("Your account is not active, please check your billing details.", "billing_not_active"),
    "quota_exceeded",
    "rate_limited",
  ],
  [
    "openai-500",
    500,
    error("The server had an error processing your request.", null, "server_error"),
    "provider_error",
  ],
  [
    "openai-overloaded",
    503,
    error("The engine is currently overloaded, please try again later", null, "server_error"),
    "provider_error",
  ],
  [
    "azure-bad-key",
    401,
    error("Access denied due to invalid subscription key or wrong API endpoint.", "401"),
    "auth_failed",
  ],
  [
    "azure-no-deployment",
    404,
    error("The API deployment for this resource does not exist.", "DeploymentNotFound"),
    "model_not_found",
  ],
  ["azure-wrong-path", 404, error("Resource not found", "404"), "model_not_found", "executor_unavailable"],
  [
    "azure-rate",
    429,
    error(
      "Requests to the ChatCompletions_Create Operation have exceeded call rate limit of your current OpenAI S0 " +
        "pricing tier. Please retry after 20 seconds. To further increase the default rate limit go to https://aka.ms/oai/quotaincrease.",
      "429",
    ),
    "rate_limited",
  ],
  [
    "azure-filter",
    400,
    {
      error: {
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
        type: null,
        param: "prompt",
        code: "content_filter",
        status: 400,
        innererror: { code: "ResponsibleAIPolicyViolation" },
      },
    },
    "content_blocked",
  ],
];

/** What OpenAI and Azure answer. */
export const OPENAI = toAnswers(ROWS);
