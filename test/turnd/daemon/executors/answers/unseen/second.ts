import { error, toAnswers, type Row } from "../answer.ts";
import { anthropic, coded, google, openRouter } from "./shapes.ts";

const ROWS: readonly Row[] = [
  [
    "unseen-openai-project",
    401,
    error("The project you are requesting has been archived and cannot be accessed", "not_authorized_invalid_project"),
    "auth_failed",
  ],
  [
    "unseen-openai-region",
    401,
    error(
      "Your request was made from an IP address that is not in the allow list of the project.",
      "ip_not_authorized",
    ),
    "auth_failed",
  ],
  [
    "unseen-openai-tools",
    400,
    error(
      "Invalid 'tools': array too long. Expected an array with maximum length 128, but got one of 140.",
      "array_above_max_length",
    ),
    "invalid_request",
  ],
  [
    "unseen-openai-moderation",
    400,
    error(
      "Your input was flagged by the moderation of this deployment.",
      "moderation_blocked",
      "image_generation_user_error",
    ),
    "content_blocked",
  ],
  [
    "unseen-azure-deployment",
    404,
    coded(
      "DeploymentNotFound",
      "The API deployment for this resource does not exist. If you created it within the last 5 minutes, please wait.",
    ),
    "model_not_found",
  ],
  [
    "unseen-azure-internal",
    500,
    coded("InternalServerError", "Backend returned unexpected response."),
    "provider_error",
  ],
  [
    "anthropic-unseen-key-disabled",
    401,
    anthropic("authentication_error", "This API key has been disabled by an administrator of your workspace."),
    "auth_failed",
  ],
  [
    "anthropic-unseen-tokens",
    400,
    anthropic("invalid_request_error", "prompt is too long: 1000300 tokens > 1000000 maximum"),
    "context_overflow",
  ],
  [
    "anthropic-unseen-empty",
    400,
    anthropic("invalid_request_error", "messages: text content blocks must be non-empty"),
    "invalid_request",
  ],
  [
    "anthropic-unseen-acceleration",
    429,
    anthropic(
      "rate_limit_error",
      "This request would exceed your organization's acceleration limit. Please scale up gradually.",
    ),
    "rate_limited",
  ],
  [
    "unseen-google-unregistered",
    403,
    google(
      403,
      "PERMISSION_DENIED",
      "Method doesn't allow unregistered callers. Please use API Key or other form of API consumer identity to call this API.",
    ),
    "auth_failed",
  ],
  [
    "unseen-google-disabled",
    403,
    google(
      403,
      "PERMISSION_DENIED",
      "Generative Language API has not been used in project 1 before or it is disabled.",
      [{ reason: "SERVICE_DISABLED" }],
    ),
    "auth_failed",
  ],
  [
    "unseen-google-schema",
    400,
    google(
      400,
      "INVALID_ARGUMENT",
      "Invalid JSON payload received. Unknown name \"strict\" at 'tools[0].function': Cannot find field.",
    ),
    "invalid_request",
  ],
  [
    "unseen-vertex-model",
    404,
    google(
      404,
      "NOT_FOUND",
      "Publisher Model `publishers/google/models/gemini-9` was not found or your project does not have access to it.",
    ),
    "model_not_found",
  ],
  [
    "unseen-openrouter-policy",
    404,
    openRouter(404, "No endpoints found matching your data policy. Configure it in the settings of privacy."),
    "model_not_found",
  ],
  ["unseen-openrouter-none", 503, openRouter(503, "No instances available"), "provider_error"],
  [
    "unseen-together-credit",
    402,
    error("Credit limit exceeded, please navigate to the billing settings to upgrade your plan.", "credit_limit"),
    "quota_exceeded",
  ],
  [
    "unseen-cerebras-length",
    400,
    {
      message: "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
      type: "invalid_request_error",
      param: "messages",
      code: "context_length_exceeded",
    },
    "context_overflow",
  ],
  [
    "unseen-cerebras-model",
    404,
    {
      message: "Model foo does not exist or you do not have access to it.",
      type: "not_found_error",
      param: "model",
      code: "model_not_found",
    },
    "model_not_found",
  ],
  [
    "unseen-tgi-inputs",
    422,
    {
      error: "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
      error_type: "validation",
    },
    "context_overflow",
  ],
  ["unseen-vllm-key", 401, { error: "Unauthorized" }, "auth_failed"],
  [
    "unseen-litellm-rate",
    429,
    error("Crossed TPM / RPM / Max Parallel Request Limit for key: sk-..1", "429", "None"),
    "rate_limited",
  ],
  [
    "unseen-litellm-upstream",
    500,
    error("litellm.InternalServerError: InternalServerError: OpenAIException - Connection error.", "500"),
    "provider_error",
  ],
  [
    "unseen-volcengine-paused",
    429,
    coded(
      "SetLimitExceeded",
      "Your account has reached the set inference limit for the foo model, and the model service has been paused.",
    ),
    "quota_exceeded",
    "rate_limited",
  ],
  [
    "unseen-siliconflow-model",
    400,
    { code: 20_012, message: "Model does not exist. Please check it carefully.", data: null },
    "model_not_found",
  ],
  [
    "unseen-nvidia-credits",
    402,
    { detail: "Account 'x': Cloud credits expired - Please contact NVIDIA representatives" },
    "quota_exceeded",
  ],
  ["unseen-databricks-key", 403, { error_code: "403", message: "Invalid access token." }, "auth_failed"],
  [
    "unseen-databricks-rate",
    429,
    {
      error_code: "REQUEST_LIMIT_EXCEEDED",
      message: "REQUEST_LIMIT_EXCEEDED: Exceeded workspace output tokens per minute rate limit for databricks-model.",
    },
    "rate_limited",
  ],
  [
    "unseen-watsonx-model",
    404,
    {
      errors: [{ code: "model_not_supported", message: "Model 'foo' is not supported for this environment." }],
      status_code: 404,
    },
    "model_not_found",
  ],
  [
    "unseen-workers-ai-key",
    401,
    { success: false, errors: [{ code: 10_000, message: "Authentication error" }], messages: [], result: null },
    "auth_failed",
  ],
  ["unseen-kong-key", 401, { message: "No API key found in request" }, "auth_failed"],
  ["unseen-cloudflare-1020", 403, "error code: 1020", "auth_failed"],
  [
    "unseen-alb-502",
    502,
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n",
    "provider_error",
  ],
];

/** Labelled on 2026-11-23, before the rules were changed for what they missed of the first. */
export const UNSEEN_SECOND = toAnswers(ROWS);
