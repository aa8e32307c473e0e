import { refusals, anthropic, asIs, coded, error, google, openRouter } from "./answer.ts";

const refused = refusals("rate_limited");

/** What means `rate_limited`, by its status. */
export const RATE_LIMITED = [
  ...refused(429, {
    "openai-rate": error(
      "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 20000.",
      "rate_limit_exceeded",
      "tokens",
    ),
    "azure-rate": error(
      "Requests to the ChatCompletions_Create Operation have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after 20 seconds. To further increase the default rate limit go to https://aka.ms/oai/quotaincrease.",
      "429",
    ),
    "anthropic-rate": {
      type: "error",
      error: {
        type: "rate_limit_error",
        message: "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
      },
      request_id: "req_1",
    },
    "google-per-minute": google(
      429,
      "RESOURCE_EXHAUSTED",
      "Quota exceeded for quota metric 'Generate Content API requests per minute' and limit 'GenerateContent request limit per minute for a region' of service 'generativelanguage.googleapis.com'.",
    ),
    "google-retry-soon": google(
      429,
      "RESOURCE_EXHAUSTED",
      "You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: generate_content_free_tier_requests, limit: 10\nPlease retry in 35.4s.",
    ),
    "vertex-busy": google(429, "RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later."),
    "bedrock-throttled": { message: "Too many tokens, please wait before trying again." },
    "mistral-capacity": {
      object: "error",
      message: "Service tier capacity exceeded for this model.",
      type: "service_tier_capacity_exceeded",
      code: "3505",
    },
    "moonshot-rate": error(
      "Your account org-x request reached organization max RPM: 3, please try again after 1 seconds",
      null,
      "rate_limit_reached_error",
    ),
    "zhipu-rate": coded("1302", "Rate limit reached for requests"),
    "dashscope-rate": error("Requests rate limit exceeded, please try again later.", "limit_requests"),
    "openrouter-rate": {
      error: {
        message: "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day",
        code: 429,
      },
      user_id: "user_1",
    },
    "groq-per-day": error(
      "Rate limit reached for model `llama` in organization `org` on tokens per day (TPD): Limit 100000, Used 99900. Please try again in 2m52s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
      "rate_limit_exceeded",
      "tokens",
    ),
    "litellm-cooldown": error("No deployments available for selected model, Try again in 60 seconds.", "429"),
    "empty-429": asIs(""),
    "bedrock-day": { message: "Too many tokens per day, please wait before trying again." },
    "anthropic-minute": anthropic(
      "rate_limit_error",
      "Number of request tokens has exceeded your per-minute rate limit.",
    ),
    "openrouter-upstream-rate": openRouter(
      429,
      "Provider returned error",
      "maker/model:free is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits.",
    ),
    "github-day": coded(
      "RateLimitReached",
      "Rate limit of 50 per 86400s exceeded for UserByModelByDay. Please wait 3000 seconds.",
    ),
    "kong-rate": { message: "API rate limit exceeded" },
    "anthropic-acceleration": anthropic(
      "rate_limit_error",
      "This request would exceed your organization's acceleration limit. Please scale up gradually.",
    ),
    "litellm-rate": error("Crossed TPM / RPM / Max Parallel Request Limit for key: sk-..1", "429", "None"),
    "databricks-rate": {
      error_code: "REQUEST_LIMIT_EXCEEDED",
      message: "REQUEST_LIMIT_EXCEEDED: Exceeded workspace output tokens per minute rate limit for databricks-model.",
    },
    "sambanova-rate": { error: { message: "Rate limit exceeded" } },
    "ovh-rate": { message: "Rate limit reached, please try again later" },
    "azure-tokens": coded(
      "RateLimitReached",
      "Your requests to gpt-4o in East US have exceeded token rate limit of your current AIServices S0 pricing tier. Please retry after 60 seconds.",
    ),
    "openai-requests": error(
      "Rate limit reached for gpt-5 on requests per min (RPM): Limit 3, Used 3, Requested 1.",
      "rate_limit_exceeded",
      "requests",
    ),
    "anthropic-rate-2": anthropic(
      "rate_limit_error",
      "This request would exceed the rate limit for your organization of 50 requests per minute.",
    ),
    "bedrock-throttled-2": {
      message: "Too many requests, please wait before trying again. You have sent too many requests.",
    },
    "mistral-rate": {
      object: "error",
      message: "Requests rate limit exceeded",
      type: "rate_limited",
      param: null,
      code: "1300",
    },
    "openai-too-many-tokens-a-minute": error(
      "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 41293. The input or output tokens must be reduced in order to run successfully.",
      "rate_limit_exceeded",
      "tokens",
    ),
    "anthropic-rate-3": anthropic(
      "rate_limit_error",
      "This request would exceed the rate limit for your organization of 30,000 input tokens per minute. For details, refer to the documentation. You can see the response headers for current usage. Please reduce the prompt length or the maximum tokens requested, or try again later. You may also contact sales.",
    ),
    "cerebras-requests": {
      message: "Requests per minute limit exceeded - too many requests sent.",
      type: "too_many_requests_error",
      param: "quota",
      code: "request_quota_exceeded",
    },
    "plain-429": asIs("Calm down."),
    "back-off": { message: "Back off for 3 s" },
  }),
  ...refused(
    429,
    {
      "apigee-rate": {
        fault: {
          faultstring: "Rate limit quota violation. Quota limit exceeded. Identifier : x",
          detail: { errorcode: "policies.ratelimit.QuotaViolation" },
        },
      },
    },
    { also: ["quota_exceeded"] },
  ),
];
