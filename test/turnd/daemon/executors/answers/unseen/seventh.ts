import { error, toAnswers, type Row } from "../answer.ts";
import { anthropic } from "./shapes.ts";

/** Apigee's shape. */
const fault = (faultstring: string, errorcode: string): unknown => ({ fault: { faultstring, detail: { errorcode } } });

const QUOTA: readonly Row[] = [
  ["seventh-costs", 402, { error: "This request costs 0.03 USD, and your account holds 0.01 USD." }, "quota_exceeded"],
  ["seventh-cap", 400, error("Your organization has reached its monthly cap.", null, "cap_reached"), "quota_exceeded"],
  [
    "seventh-plan-limit",
    429,
    { error: { type: "usage_limit_exceeded", message: "Limit of your plan reached; resets on Monday." } },
    "quota_exceeded",
    "rate_limited",
    ["rate_limited"],
  ],
  ["seventh-payment-setup", 403, error("Complete the payment setup of this workspace first.", null), "quota_exceeded"],
  ["seventh-low", 400, { code: "BALANCE_TOO_LOW", msg: "recharge needed" }, "quota_exceeded"],
];

const RATES: readonly Row[] = [
  [
    "seventh-apigee-rate",
    429,
    fault("Rate limit quota violation. Quota limit exceeded. Identifier : x", "policies.ratelimit.QuotaViolation"),
    "rate_limited",
    "rate_limited",
    ["quota_exceeded"],
  ],
  ["seventh-back-off", 429, { message: "Back off for 3 s" }, "rate_limited"],
];

const KEYS: readonly Row[] = [
  ["seventh-apigee-key", 401, fault("Invalid ApiKey", "oauth.v2.InvalidApiKey"), "auth_failed"],
  [
    "seventh-explicit-deny",
    403,
    { Message: "User is not authorized to access this resource with an explicit deny in an identity-based policy" },
    "auth_failed",
  ],
  ["seventh-missing-token", 403, { message: "Missing Authentication Token" }, "auth_failed"],
  ["seventh-undecoded", 400, error("The bearer credential could not be decoded.", null), "auth_failed"],
  ["seventh-login-page", 401, "<html><title>Sign in</title><form>User, password</form></html>", "auth_failed"],
  [
    "seventh-country",
    403,
    { error: { code: "geo_blocked", message: "Requests from your country are not accepted." } },
    "auth_failed",
  ],
  [
    "seventh-key-without-model",
    403,
    error("Your key has no access to model m.", null),
    "auth_failed",
    "auth_failed",
    ["model_not_found"],
  ],
];

const MODELS: readonly Row[] = [
  ["seventh-deployment-id", 404, error("Unknown deployment id: m", null), "model_not_found"],
  ["seventh-misspelled", 400, error("Model name m is misspelled or has been withdrawn.", null), "model_not_found"],
  ["seventh-archive", 400, error("The requested model was moved to the archive.", null), "model_not_found"],
  ["seventh-unresolved", 422, { detail: "Model 'm' could not be resolved" }, "model_not_found"],
];

const LENGTHS: readonly Row[] = [
  ["seventh-allowed", 400, error("Request has 131073 tokens but only 131072 are allowed.", null), "context_overflow"],
  ["seventh-text", 400, error("The text you sent is too long for the model.", null), "context_overflow"],
  ["seventh-total", 422, { message: "total length of messages exceeds 32k" }, "context_overflow"],
  ["seventh-available", 400, error("Prompt tokens: 20000. Available: 16384.", null), "context_overflow"],
  [
    "seventh-indices",
    500,
    {
      error:
        "Token indices sequence length is longer than the specified maximum sequence length for this model (9000 > 8192)",
    },
    "context_overflow",
    "context_overflow",
    ["provider_error"],
  ],
];

const POLICIES: readonly Row[] = [
  [
    "seventh-harm",
    400,
    error("We cannot help with this request because it may lead to harm.", null),
    "content_blocked",
  ],
  [
    "seventh-personal-data",
    400,
    error("Your message contains personal data, which this gateway does not let through.", null),
    "content_blocked",
    "content_blocked",
    ["invalid_request"],
  ],
  ["seventh-prohibited-use", 400, error("Use case not permitted.", "PROHIBITED_USE"), "content_blocked"],
  [
    "seventh-malware",
    403,
    error("Blocked: the prompt asks for malware.", null),
    "content_blocked",
    "content_blocked",
    ["auth_failed"],
  ],
];

const MALFORMED: readonly Row[] = [
  [
    "seventh-type",
    400,
    error("Invalid type for 'tools': expected an array, got a string.", "invalid_type"),
    "invalid_request",
  ],
  ["seventh-one", 400, error("n must be 1", null), "invalid_request"],
  ["seventh-summary", 400, error("reasoning.summary is not permitted with this endpoint", null), "invalid_request"],
  ["seventh-rails", 422, { errors: { messages: ["can't be blank"] } }, "invalid_request"],
  [
    "seventh-asp",
    400,
    {
      title: "One or more validation errors occurred.",
      status: 400,
      errors: { max_tokens: ["The field max_tokens must be between 1 and 4096."] },
    },
    "invalid_request",
  ],
  ["seventh-needs-a-tool", 400, error("tool_choice 'required' needs at least one tool", null), "invalid_request"],
  ["seventh-order", 400, error("System messages must come first", null), "invalid_request"],
  ["seventh-trap-card", 400, error("function name 'charge_credit_card' is used twice", null), "invalid_request"],
  [
    "seventh-trap-logprobs",
    400,
    error("The parameter top_logprobs is not available for reasoning models.", null),
    "invalid_request",
  ],
  [
    "seventh-trap-streaming",
    400,
    error("Streaming is off for this deployment; send stream=false.", null),
    "invalid_request",
  ],
  ["seventh-trap-system", 400, error("This model only accepts one system message.", null), "invalid_request"],
  [
    "seventh-trap-caching",
    400,
    error("Prompt caching needs a prompt longer than 1024 tokens.", null),
    "invalid_request",
  ],
];

const SERVERS: readonly Row[] = [
  ["seventh-gpu", 500, { error: "GPU fell off the bus" }, "provider_error"],
  ["seventh-model-json", 502, { message: "Bad gateway: model returned invalid JSON" }, "provider_error"],
  ["seventh-maintenance", 503, error("Scheduled maintenance until 06:00 UTC", null), "provider_error"],
  [
    "seventh-endpoint",
    504,
    { message: "Endpoint request timed out" },
    "provider_error",
    "provider_error",
    ["provider_timeout"],
  ],
  ["seventh-anthropic-later", 529, anthropic("overloaded_error", "Try later"), "provider_error"],
  ["seventh-slow-page", 408, "<html><title>408 Request Time-out</title></html>", "provider_timeout"],
];

/** A seventh hold-out, written once prose was read by its subjects; labelled on 2026-11-25 before anything was run. */
export const UNSEEN_SEVENTH = toAnswers([
  ...QUOTA,
  ...RATES,
  ...KEYS,
  ...MODELS,
  ...LENGTHS,
  ...POLICIES,
  ...MALFORMED,
  ...SERVERS,
]);
