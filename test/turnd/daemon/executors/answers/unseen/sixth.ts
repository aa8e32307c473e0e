import { error, toAnswers, type Row } from "../answer.ts";

const QUOTA: readonly Row[] = [
  ["sixth-payment", 402, "Payment Required", "quota_exceeded"],
  [
    "sixth-included-usage",
    400,
    { message: "This workspace has run through its included usage. Turn on usage-based pricing to continue." },
    "quota_exceeded",
  ],
  ["sixth-wallet", 400, error("Wallet is empty.", null), "quota_exceeded"],
  ["sixth-invoice", 403, { detail: "Invoice 2231 has not been paid. Access is paused." }, "quota_exceeded"],
  [
    "sixth-free-messages",
    429,
    { error: "You've hit your daily cap of 50 free messages." },
    "quota_exceeded",
    "rate_limited",
    ["rate_limited"],
  ],
  ["sixth-remaining-zero", 400, error("Remaining token quota: 0.", "token_quota_exhausted"), "quota_exceeded"],
  ["sixth-owed", 403, error("You owe 12.40 EUR. Pay the open amount to use the API again.", null), "quota_exceeded"],
];

const KEYS: readonly Row[] = [
  ["sixth-not-logged-in", 401, { errors: ["Not logged in"] }, "auth_failed"],
  ["sixth-header-empty", 400, error("Header 'x-api-key' is empty.", null), "auth_failed"],
  ["sixth-bearer-prefix", 400, { error: "Authorization header must start with 'Bearer '" }, "auth_failed"],
  [
    "sixth-forbidden-page",
    403,
    "<!DOCTYPE HTML><html><head><title>403 Forbidden</title></head><body><h1>Forbidden</h1><p>You don't have permission to access this resource.</p></body></html>",
    "auth_failed",
  ],
  ["sixth-rotated", 400, error("This API key was rotated; use the newest one.", null), "auth_failed"],
  ["sixth-login-for-model", 401, error("Log in to use this model.", null), "auth_failed"],
  [
    "sixth-tenant",
    403,
    { error: { code: "tenant_blocked", message: "Requests of this tenant are not served." } },
    "auth_failed",
  ],
];

const MODELS: readonly Row[] = [
  ["sixth-route", 404, error("No route for model m.", null), "model_not_found"],
  [
    "sixth-tier",
    400,
    error("Model m is unavailable for your tier.", null),
    "model_not_found",
    "model_not_found",
    ["quota_exceeded"],
  ],
  ["sixth-provider-for-model", 400, error("Cannot find a provider for model m.", null), "model_not_found"],
  ["sixth-not-offered", 400, error("The snapshot m-2024-05-13 isn't offered any more.", null), "model_not_found"],
  ["sixth-called", 404, error("There is no model called m.", null), "model_not_found"],
  [
    "sixth-not-served",
    400,
    error("m is not one of the models that this endpoint serves: a, b.", null),
    "model_not_found",
  ],
  [
    "sixth-field-of-list",
    422,
    { message: "The 'model' field must be one of: a, b." },
    "model_not_found",
    "model_not_found",
    ["invalid_request"],
  ],
  ["sixth-spanish", 404, error("El modelo solicitado no existe.", "model_not_found"), "model_not_found"],
];

const LENGTHS: readonly Row[] = [
  [
    "sixth-history",
    400,
    error("Message history of 412 entries totals 260123 tokens; the ceiling is 200000.", null),
    "context_overflow",
  ],
  [
    "sixth-n-ctx",
    400,
    { error: { code: 400, message: "n_tokens=9000 > n_ctx=8192", type: "invalid_request_error" } },
    "context_overflow",
  ],
  [
    "sixth-llama-python",
    400,
    error("Requested tokens (9100) exceed context window of 8192", "context_length_exceeded"),
    "context_overflow",
  ],
  ["sixth-new-chat", 400, error("Please start a new chat, this one has become too long.", null), "context_overflow"],
  ["sixth-input-over", 400, { message: "Input is 1203 tokens over the limit of this model." }, "context_overflow"],
];

const POLICIES: readonly Row[] = [
  ["sixth-detected", 400, error("Potential self-harm content detected.", null), "content_blocked"],
  ["sixth-injection", 400, error("Prompt injection detected by the firewall.", "prompt_blocked"), "content_blocked"],
  ["sixth-explicit", 400, error("Image rejected: explicit material.", null), "content_blocked"],
  [
    "sixth-ai-policy",
    403,
    { message: "The organisation's AI policy does not permit this prompt." },
    "content_blocked",
    "content_blocked",
    ["auth_failed"],
  ],
  ["sixth-nsfw", 422, { detail: "NSFW input is not allowed." }, "content_blocked"],
];

const MALFORMED: readonly Row[] = [
  ["sixth-required", 400, error("'messages' is a required property", null), "invalid_request"],
  ["sixth-json", 400, error("Could not parse the JSON body of your request.", null), "invalid_request"],
  [
    "sixth-literal",
    422,
    { detail: [{ type: "literal_error", loc: ["body", "tool_choice"], msg: "Input should be 'auto'" }] },
    "invalid_request",
  ],
  ["sixth-images", 400, error("Too many images: 21, at most 20 per request.", null), "invalid_request"],
  [
    "sixth-tool-calls",
    400,
    error(
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
      null,
    ),
    "invalid_request",
  ],
  [
    "sixth-trap-balance",
    400,
    error("The result of tool 'get_balance' must not be an empty string.", null),
    "invalid_request",
  ],
  [
    "sixth-trap-subscription",
    400,
    error("'expired' is not a valid value for field 'subscription_state'.", null),
    "invalid_request",
  ],
  [
    "sixth-trap-safety",
    400,
    error("safety_settings[0].threshold: value BLOCK_SOME is not allowed.", null),
    "invalid_request",
  ],
  [
    "sixth-trap-answer-length",
    400,
    error(
      "max_completion_tokens is too large: 200000. This model supports at most 128000 completion tokens.",
      "invalid_value",
    ),
    "invalid_request",
  ],
  ["sixth-trap-key-name", 400, error("Duplicate key 'token' in metadata.", null), "invalid_request"],
];

const SERVERS: readonly Row[] = [
  ["sixth-nothing", 500, {}, "provider_error"],
  ["sixth-cluster", 503, 'no endpoints available for service "inference"', "provider_error"],
  [
    "sixth-trap-key",
    500,
    error("Failed to read the answer of the model: unexpected field api_key", null, "internal"),
    "provider_error",
  ],
  ["sixth-upstream-slow", 504, "upstream request timeout", "provider_error", "provider_error", ["provider_timeout"]],
  [
    "sixth-origin",
    530,
    "<html><title>Origin DNS error | models.example | Cloudflare</title></html>",
    "provider_error",
    "provider_error",
    ["network_error"],
  ],
  ["sixth-took-too-long", 408, error("The model took too long to answer.", null), "provider_timeout"],
  [
    "sixth-shed",
    503,
    { message: "Load shed: reduce your request rate" },
    "provider_error",
    "provider_error",
    ["rate_limited"],
  ],
  ["sixth-plain-429", 429, "Calm down.", "rate_limited"],
  [
    "sixth-wrong-path",
    404,
    "<!DOCTYPE html><pre>Cannot POST /api/responses</pre>",
    "model_not_found",
    "executor_unavailable",
    ["executor_unavailable"],
  ],
];

/** A sixth hold-out, written once the fifth was taken in; labelled on 2026-11-25 before anything was run. */
export const UNSEEN_SIXTH = toAnswers([
  ...QUOTA,
  ...KEYS,
  ...MODELS,
  ...LENGTHS,
  ...POLICIES,
  ...MALFORMED,
  ...SERVERS,
]);
