import { error, toAnswers, type Row } from "../answer.ts";
import { coded, google } from "./shapes.ts";

const ROWS: readonly Row[] = [
  [
    "last-perplexity-key",
    401,
    error("Invalid API key provided. You can view your key in the settings.", 401, "invalid_api_key"),
    "auth_failed",
  ],
  [
    "last-perplexity-model",
    400,
    error("Invalid model 'foo'. Permitted models can be found in the documentation.", 400, "invalid_model"),
    "model_not_found",
  ],
  ["last-deepinfra-model", 404, { detail: { error: "Model is not available" } }, "model_not_found"],
  [
    "last-deepinfra-balance",
    402,
    { detail: { error: "inference prohibited, please enter a payment method or add balance" } },
    "quota_exceeded",
  ],
  [
    "last-novita-balance",
    403,
    { code: 403, reason: "NOT_ENOUGH_BALANCE", message: "not enough balance", metadata: {} },
    "quota_exceeded",
  ],
  [
    "last-novita-model",
    404,
    { code: 404, reason: "MODEL_NOT_FOUND", message: "model not found", metadata: {} },
    "model_not_found",
  ],
  ["last-sambanova-rate", 429, { error: { message: "Rate limit exceeded" } }, "rate_limited"],
  ["last-ai21-length", 422, { detail: "Prompt too long; at most 256000 tokens" }, "context_overflow"],
  ["last-upstage-model", 400, error("The model `foo` is not supported.", "unsupported_model"), "model_not_found"],
  ["last-baseten-model", 404, { error: "model not found" }, "model_not_found"],
  [
    "last-replicate-credit",
    402,
    { title: "Insufficient credit", detail: "You have insufficient credit to run this model." },
    "quota_exceeded",
  ],
  [
    "last-replicate-key",
    401,
    { title: "Unauthenticated", detail: "You did not pass a valid authentication token" },
    "auth_failed",
  ],
  ["last-scaleway-permissions", 403, { message: "insufficient permissions", type: "denied" }, "auth_failed"],
  ["last-ovh-rate", 429, { message: "Rate limit reached, please try again later" }, "rate_limited"],
  [
    "last-google-argument",
    400,
    google(400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "invalid_request",
  ],
  [
    "last-google-unavailable",
    503,
    google(503, "UNAVAILABLE", "The service is currently unavailable."),
    "provider_error",
  ],
  [
    "last-google-empty",
    400,
    google(400, "INVALID_ARGUMENT", "Unable to submit request because it has an empty text parameter."),
    "invalid_request",
  ],
  [
    "last-azure-tokens",
    429,
    coded(
      "RateLimitReached",
      "Your requests to gpt-4o in East US have exceeded token rate limit of your current AIServices S0 pricing tier. Please retry after 60 seconds.",
    ),
    "rate_limited",
  ],
  [
    "last-azure-principal",
    401,
    coded("PermissionDenied", "The principal `x` lacks the required data action to perform `POST` operation."),
    "auth_failed",
  ],
  [
    "last-bedrock-role",
    403,
    { message: "User: arn:aws:iam::1:user/me is not authorized to perform: bedrock:InvokeModelWithResponseStream" },
    "auth_failed",
  ],
  [
    "last-bedrock-output",
    400,
    {
      message:
        "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
    },
    "invalid_request",
  ],
  [
    "last-lmstudio-none",
    400,
    { error: "No models loaded. Please load a model in the developer page." },
    "model_not_found",
  ],
  [
    "last-llamacpp-tool",
    500,
    error("Failed to parse tool call arguments as JSON", 500, "server_error"),
    "provider_error",
  ],
  ["last-ollama-key", 401, { error: "unauthorized" }, "auth_failed"],
  [
    "last-copilot-allowance",
    402,
    error("You have exceeded your premium request allowance.", "quota_exceeded"),
    "quota_exceeded",
  ],
  ["last-copilot-token", 401, "unauthorized: token expired\n", "auth_failed"],
  [
    "last-xai-model",
    404,
    {
      code: "Some requested entity was not found",
      error: "The model grok-9 does not exist or your team 1 does not have access to it.",
    },
    "model_not_found",
  ],
  [
    "last-minimax-key",
    401,
    { base_resp: { status_code: 1004, status_msg: "login fail: Please carry the API secret key" } },
    "auth_failed",
  ],
  ["last-qianfan-model", 400, coded("invalid_model", "the model is invalid: foo"), "model_not_found"],
];

/** Labelled on 2026-11-23, once more words were taken into the families of `answer-words.ts`, and tried after it. */
export const UNSEEN_THIRD = toAnswers(ROWS);
