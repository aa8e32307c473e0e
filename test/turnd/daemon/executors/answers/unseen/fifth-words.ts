import { error, toAnswers, type Row } from "../answer.ts";
import { coded } from "./shapes.ts";

const QUOTA: readonly Row[] = [
  ["fifth-trial-ended", 403, { message: "Your trial has ended. Subscribe to continue." }, "quota_exceeded"],
  ["fifth-prepaid-zero", 400, error("Prepaid balance of workspace 'x' is 0.00 USD.", null), "quota_exceeded"],
  ["fifth-402-empty", 402, "", "quota_exceeded"],
  [
    "fifth-plan-requests",
    403,
    { error: "plan_limit", message: "Your Hobby plan includes 200 agent requests per month; you have used 200." },
    "quota_exceeded",
  ],
  [
    "fifth-monthly-allowance",
    429,
    { error: { message: "Monthly token allowance used up; it resets on 1 December." } },
    "quota_exceeded",
    "rate_limited",
    ["rate_limited"],
  ],
  [
    "fifth-spend-cap",
    400,
    { error: { type: "spend_cap_reached", message: "The spend cap for this project has been hit." } },
    "quota_exceeded",
  ],
  [
    "fifth-card-declined",
    403,
    error("Your payment method was declined. Update your card to keep using the API.", "payment_required"),
    "quota_exceeded",
  ],
  ["fifth-german-quota", 400, error("Das Kontingent ist erschöpft.", "quota_exceeded", "error"), "quota_exceeded"],
  ["fifth-russian-balance", 402, { status: 402, message: "Недостаточно средств на балансе" }, "quota_exceeded"],
];

const KEYS: readonly Row[] = [
  ["fifth-malformed-bearer", 400, { message: "Malformed bearer token" }, "auth_failed"],
  [
    "fifth-signature",
    403,
    {
      message:
        "The request signature we calculated does not match the signature you provided. Check your secret access key and signing method.",
    },
    "auth_failed",
  ],
  ["fifth-ip-list", 403, { error: "Your IP address 198.51.100.7 is not on the allow list of this key" }, "auth_failed"],
  [
    "fifth-grant",
    400,
    { error: "invalid_grant", error_description: "Token has been expired or revoked." },
    "auth_failed",
  ],
  ["fifth-jwt", 401, { error: "jwt expired" }, "auth_failed"],
  [
    "fifth-sso",
    401,
    { message: "A single sign-on session is required", errors: [{ code: "sso_required" }] },
    "auth_failed",
  ],
  ["fifth-french-key", 401, { code: 401, message: "Clé d'API absente ou non valide" }, "auth_failed"],
];

const MODELS: readonly Row[] = [
  ["fifth-engine", 400, error("unknown engine 'm'", null), "model_not_found"],
  ["fifth-deployment", 404, { detail: "no such deployment: m" }, "model_not_found", "model_not_found"],
  ["fifth-gone", 410, error("The model m was retired on 2025-06-01.", null), "model_not_found"],
  ["fifth-region", 400, error("Model 'm' isn't available in region eu-west-1.", null), "model_not_found"],
  [
    "fifth-enumeration",
    422,
    {
      detail: [
        {
          loc: ["body", "model"],
          msg: "value is not a valid enumeration member; permitted: 'a', 'b'",
          type: "type_error.enum",
        },
      ],
    },
    "model_not_found",
    "model_not_found",
    ["invalid_request"],
  ],
  ["fifth-adapter", 404, error("The LoRA adapter `m` does not exist.", 404, "NotFoundError"), "model_not_found"],
  ["fifth-sunset", 400, error("m was sunset. Migrate to n.", "model_sunset"), "model_not_found"],
  ["fifth-portuguese-model", 404, error("O modelo `m` não existe.", "model_not_found"), "model_not_found"],
];

const LENGTHS: readonly Row[] = [
  [
    "fifth-conversation-long",
    400,
    error("Conversation too long: 210004 tokens, the window is 200000.", null),
    "context_overflow",
  ],
  [
    "fifth-sum-of-tokens",
    422,
    { error: "prompt_tokens (9000) + max_new_tokens (1024) must be <= 8192", error_type: "validation" },
    "context_overflow",
  ],
  [
    "fifth-positions",
    400,
    {
      object: "error",
      message: "Sequence length 9001 is larger than the model's maximum of 8192 positions",
      type: "BadRequestError",
      code: 400,
    },
    "context_overflow",
  ],
  [
    "fifth-combined-size",
    400,
    error("System prompt and messages together are over the 32768 token limit.", null),
    "context_overflow",
  ],
  ["fifth-japanese-length", 400, error("入力が長すぎます。", "context_length_exceeded"), "context_overflow"],
  [
    "fifth-payload",
    413,
    { error: "payload exceeds 4 MB" },
    "context_overflow",
    "invalid_request",
    ["invalid_request", "context_overflow"],
  ],
];

const POLICIES: readonly Row[] = [
  ["fifth-acceptable-use", 400, error("This request violates our acceptable use policy.", null), "content_blocked"],
  ["fifth-guardrail", 403, { message: "Blocked by guardrail 'pii-out'" }, "content_blocked"],
  [
    "fifth-classifier",
    400,
    error("The prompt trips our safety classifier (score 0.98).", "safety_block"),
    "content_blocked",
  ],
  ["fifth-prohibited", 422, { error: { message: "The input contains prohibited content." } }, "content_blocked"],
];

const MALFORMED: readonly Row[] = [
  ["fifth-alternate", 400, error('roles must alternate between "user" and "assistant"', null), "invalid_request"],
  [
    "fifth-function-name",
    400,
    error("Invalid 'tools[3].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.", "invalid_value"),
    "invalid_request",
  ],
  ["fifth-headers", 431, "", "invalid_request"],
  ["fifth-media-type", 415, { title: "Unsupported Media Type", status: 415 }, "invalid_request"],
  [
    "fifth-trap-tool-name",
    400,
    error("tools[2].input_schema of 'check_quota': property 'limit' must be of type integer", null),
    "invalid_request",
  ],
  ["fifth-trap-parameter", 400, error("Unrecognized request argument supplied: rate_limit", null), "invalid_request"],
  ["fifth-trap-max-tokens", 400, error("max_tokens must be at most 8192 for this model.", null), "invalid_request"],
  [
    "fifth-trap-filter-name",
    400,
    error("Unknown value 'strictest' for field content_filter_level.", "invalid_value"),
    "invalid_request",
  ],
  ["fifth-trap-vision", 400, error("This model does not support image input.", null), "invalid_request"],
  [
    "fifth-trap-effort",
    400,
    error("The model does not support reasoning effort 'minimal'.", "unsupported_value"),
    "invalid_request",
  ],
];

const SERVERS: readonly Row[] = [
  ["fifth-cuda", 500, { detail: "CUDA out of memory. Tried to allocate 2.00 GiB" }, "provider_error"],
  [
    "fifth-traceback",
    500,
    "Traceback (most recent call last):\n  File \"app.py\", line 3\nKeyError: 'model'\n",
    "provider_error",
  ],
  ["fifth-go-deadline", 503, "context deadline exceeded\n", "provider_error", "provider_error", ["provider_timeout"]],
  ["fifth-ring-balancer", 503, { message: "failure to get a peer from the ring-balancer" }, "provider_error"],
  ["fifth-trap-quota-service", 500, error("could not read from the quota service", "internal_error"), "provider_error"],
  ["fifth-trap-upstream-401", 502, { message: "model server not ready: GET /health returned 401" }, "provider_error"],
  ["fifth-599", 599, "", "provider_error"],
  ["fifth-request-timeout", 408, "Request Timeout", "provider_timeout"],
  ["fifth-coded-busy", 503, coded("EngineOverloaded", "模型繁忙，请稍后再试"), "provider_error"],
];

/** Causes in words of no maker's in particular, and words that mislead: labelled on 2026-11-25 before anything was run. */
export const UNSEEN_FIFTH_WORDS = toAnswers([
  ...QUOTA,
  ...KEYS,
  ...MODELS,
  ...LENGTHS,
  ...POLICIES,
  ...MALFORMED,
  ...SERVERS,
]);
