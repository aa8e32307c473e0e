import { error, toAnswers, type Row } from "./answer.ts";

const xai = (code: string, message: string): unknown => ({ code, error: message });

const ROWS: readonly Row[] = [
  ["bedrock-bad-key", 403, { message: "The security token included in the request is invalid." }, "auth_failed"],
  ["bedrock-context", 400, { message: "Input is too long for requested model." }, "context_overflow"],
  ["bedrock-no-model", 400, { message: "The provided model identifier is invalid." }, "model_not_found"],
  ["bedrock-throttled", 429, { message: "Too many tokens, please wait before trying again." }, "rate_limited"],
  ["deepseek-balance", 402, error("Insufficient Balance", "invalid_request_error", "unknown_error"), "quota_exceeded"],
  ["deepseek-no-model", 400, error("Model Not Exist", "invalid_request_error"), "model_not_found"],
  ["deepseek-risk", 400, error("Content Exists Risk", "invalid_request_error"), "content_blocked"],
  ["deepseek-busy", 503, error("Service is too busy. We advise users to temporarily switch.", null), "provider_error"],
  [
    "mistral-no-model",
    400,
    { object: "error", message: "Invalid model: foo", type: "invalid_model", param: null, code: "1500" },
    "model_not_found",
  ],
  ["mistral-bad-key", 401, { detail: "Unauthorized" }, "auth_failed"],
  [
    "mistral-fields",
    422,
    {
      object: "error",
      message: { detail: [{ type: "extra_forbidden", loc: ["body", "seed"], msg: "Extra inputs are not permitted" }] },
      type: "invalid_request_error",
      param: null,
      code: null,
    },
    "invalid_request",
  ],
  [
    "mistral-context",
    400,
    {
      object: "error",
      message:
        "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
      type: "invalid_request_prompt",
      code: "3051",
    },
    "context_overflow",
  ],
  [
    "mistral-capacity",
    429,
    {
      object: "error",
      message: "Service tier capacity exceeded for this model.",
      type: "service_tier_capacity_exceeded",
      code: "3505",
    },
    "rate_limited",
  ],
  [
    "xai-bad-key",
    400,
    xai(
      "Client specified an invalid argument",
      "Incorrect API key provided: xa***. You can obtain one from https://console.x.ai.",
    ),
    "auth_failed",
  ],
  [
    "xai-no-credit",
    403,
    xai(
      "The caller does not have permission to execute the specified operation",
      "Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai.",
    ),
    "quota_exceeded",
  ],
  [
    "xai-spending-limit",
    429,
    xai(
      "Some resource has been exhausted",
      "Your team has either used all available credits or reached its monthly spending limit. To continue, please purchase more credits or raise your spending limit.",
    ),
    "quota_exceeded",
    "rate_limited",
  ],
  [
    "xai-context",
    400,
    xai(
      "Client specified an invalid argument",
      "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
    ),
    "context_overflow",
  ],
  [
    "xai-usage-guidelines",
    403,
    xai(
      "The caller does not have permission to execute the specified operation",
      "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
    ),
    "content_blocked",
  ],
  [
    "moonshot-no-model",
    404,
    error("Not found the model kimi-9 or Permission denied", null, "resource_not_found_error"),
    "model_not_found",
  ],
  [
    "moonshot-context",
    400,
    error("Invalid request: Your request exceeded model token limit: 131072", null),
    "context_overflow",
  ],
  [
    "moonshot-balance",
    429,
    error(
      "Your account org-x is suspended due to insufficient balance, please recharge your account or check your plan and billing details",
      null,
      "exceeded_current_quota_error",
    ),
    "quota_exceeded",
    "rate_limited",
  ],
  [
    "moonshot-risk",
    400,
    error("The request was rejected because it was considered high risk", null, "content_filter"),
    "content_blocked",
  ],
  [
    "moonshot-rate",
    429,
    error(
      "Your account org-x request reached organization max RPM: 3, please try again after 1 seconds",
      null,
      "rate_limit_reached_error",
    ),
    "rate_limited",
  ],
  [
    "zhipu-no-model",
    400,
    { error: { code: "1211", message: "Unknown Model, please check the model code." } },
    "model_not_found",
  ],
  [
    "zhipu-balance",
    429,
    { error: { code: "1113", message: "Insufficient balance or no resource package. Please recharge." } },
    "quota_exceeded",
    "rate_limited",
  ],
  ["zhipu-rate", 429, { error: { code: "1302", message: "Rate limit reached for requests" } }, "rate_limited"],
  [
    "zhipu-five-hours",
    429,
    {
      error: { code: "1308", message: "Usage limit reached for 5 hour. Your limit will reset at 2026-11-21 20:00:00" },
    },
    "quota_exceeded",
    "rate_limited",
  ],
  ["zhipu-context", 400, { error: { code: "1261", message: "Prompt exceeds max length" } }, "context_overflow"],
  [
    "zhipu-sensitive",
    400,
    {
      contentFilter: [{ level: 1, role: "user" }],
      error: {
        code: "1301",
        message: "System detected potentially unsafe or sensitive content in input or generation.",
      },
    },
    "content_blocked",
  ],
  [
    "dashscope-inspection",
    400,
    error("Input data may contain inappropriate content.", "data_inspection_failed", "data_inspection_failed"),
    "content_blocked",
  ],
  [
    "dashscope-context",
    400,
    error(
      "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
      "invalid_parameter_error",
    ),
    "context_overflow",
  ],
  [
    "dashscope-arrears",
    400,
    error("Access denied, please make sure your account is in good standing.", "Arrearage"),
    "quota_exceeded",
  ],
  [
    "dashscope-free-tier",
    403,
    error("The free tier of the model has been exhausted.", "AllocationQuota.FreeTierOnly"),
    "quota_exceeded",
  ],
  [
    "dashscope-rate",
    429,
    error("Requests rate limit exceeded, please try again later.", "limit_requests"),
    "rate_limited",
  ],
];

/** What others who run models of their own answer. */
export const OTHER_MAKERS = toAnswers(ROWS);
