import { error, toAnswers, type Row } from "../answer.ts";
import { coded, openRouter } from "./shapes.ts";

const page = (title: string, body = ""): string =>
  `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n${body}</body>\r\n</html>\r\n`;

const SMALLER_MAKERS: readonly Row[] = [
  [
    "fifth-deepseek-role",
    422,
    "Failed to deserialize the JSON body into the target type: messages[2]: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool` at line 1 column 900",
    "invalid_request",
  ],
  [
    "fifth-cohere-removed",
    404,
    { message: "model 'command' was removed on September 15, 2025. See the docs for a list of available models" },
    "model_not_found",
  ],
  [
    "fifth-cohere-size",
    400,
    {
      message:
        "too many tokens: size limit exceeded by 10000 tokens. Try using shorter or fewer inputs. The limit for this model is 128000 tokens.",
    },
    "context_overflow",
  ],
  [
    "fifth-zhipu-content",
    400,
    {
      contentFilter: [{ level: 1, role: "user" }],
      error: {
        code: "1301",
        message: "系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语，感谢您的配合。",
      },
    },
    "content_blocked",
  ],
  ["fifth-zhipu-model", 400, coded("1211", "模型不存在，请检查模型代码。"), "model_not_found"],
  ["fifth-zhipu-debt", 429, coded("1113", "您的账户已欠费，请充值后重试"), "quota_exceeded", "rate_limited"],
  [
    "fifth-cerebras-requests",
    429,
    {
      message: "Requests per minute limit exceeded - too many requests sent.",
      type: "too_many_requests_error",
      param: "quota",
      code: "request_quota_exceeded",
    },
    "rate_limited",
  ],
  [
    "fifth-github-size",
    413,
    {
      error: {
        code: "tokens_limit_reached",
        message: "Request body too large for gpt-4o model. Max size: 8000 tokens.",
      },
    },
    "context_overflow",
    "context_overflow",
    ["invalid_request"],
  ],
  [
    "fifth-yandex-length",
    400,
    {
      error: {
        grpcCode: 3,
        httpCode: 400,
        message: "Error in session internal_id=1: number of input tokens must be no more than 8192, got 12000",
        httpStatus: "Bad Request",
        details: [],
      },
    },
    "context_overflow",
  ],
];

const SERVERS: readonly Row[] = [
  [
    "fifth-vllm-engine",
    500,
    error("EngineCore encountered an issue. See stack trace (above) for the root cause.", 500, "InternalServerError"),
    "provider_error",
  ],
];

const GATEWAYS: readonly Row[] = [
  [
    "fifth-litellm-policy",
    400,
    error(
      "litellm.ContentPolicyViolationError: AzureException - The response was filtered due to the prompt triggering the content management policy.",
      "400",
    ),
    "content_blocked",
  ],
  [
    "fifth-litellm-upstream",
    500,
    error("litellm.APIConnectionError: OllamaException - [Errno 111] Connection refused", "500", "None"),
    "provider_error",
    "provider_error",
    ["network_error"],
  ],
  [
    "fifth-vercel-card",
    403,
    error(
      "AI Gateway requires a valid credit card on file to service requests. Please visit the dashboard to add a card and unlock your free credits.",
      null,
      "customer_verification_required",
    ),
    "quota_exceeded",
    "quota_exceeded",
    ["auth_failed"],
  ],
  [
    "fifth-portkey-guardrail",
    446,
    error(
      "The guardrail checks defined in the config failed. You can find more information in the hook_results.",
      null,
      "hooks_failed",
    ),
    "content_blocked",
  ],
  [
    "fifth-workers-neurons",
    429,
    {
      errors: [
        {
          message:
            "AiError: Ai: you have used up your daily free allocation of 10,000 neurons, please upgrade to the Workers Paid plan if you would like to continue usage.",
          code: 4006,
        },
      ],
      success: false,
      result: {},
      messages: [],
    },
    "quota_exceeded",
    "rate_limited",
  ],
  [
    "fifth-workers-model",
    400,
    {
      errors: [{ message: "AiError: No such model @cf/x or task", code: 5007 }],
      success: false,
      result: {},
      messages: [],
    },
    "model_not_found",
  ],
  [
    "fifth-zscaler",
    403,
    page(
      "Security policy",
      "<p>This site was blocked: the category is not allowed by your organization's content security policy.</p>",
    ),
    "auth_failed",
    "auth_failed",
    ["content_blocked", "network_error"],
  ],
  [
    "fifth-proxy-login",
    407,
    page(
      "407 Proxy Authentication Required",
      "<p>Access to requested resource disallowed by administrator or you need valid username/password to use this resource</p>",
    ),
    "auth_failed",
    "auth_failed",
    ["network_error"],
  ],
  ["fifth-empty-401", 401, "", "auth_failed"],
  ["fifth-empty-429", 429, "", "rate_limited"],
  ["fifth-empty-502", 502, "", "provider_error"],
  ["fifth-openrouter-flagged", 403, openRouter(403, "Input flagged: violence, self-harm"), "content_blocked"],
];

/** Smaller makers, servers of one's own, and what stands between: labelled on 2026-11-25 before anything was run. */
export const UNSEEN_FIFTH_OTHERS = toAnswers([...SMALLER_MAKERS, ...SERVERS, ...GATEWAYS]);
