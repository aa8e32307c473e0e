import { refusals, coded, error, openRouter } from "./answer.ts";

const refused = refusals("content_blocked");

/** What means `content_blocked`, by its status. */
export const CONTENT_BLOCKED = [
  ...refused(400, {
    "openai-policy": error("Your request was rejected as a result of our safety system.", "content_policy_violation"),
    "openai-prompt-flagged": error(
      "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
      "invalid_prompt",
    ),
    "azure-filter": {
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
    "anthropic-filter": {
      type: "error",
      error: { type: "invalid_request_error", message: "Output blocked by content filtering policy" },
      request_id: "req_1",
    },
    "deepseek-risk": error("Content Exists Risk", "invalid_request_error"),
    "moonshot-risk": error("The request was rejected because it was considered high risk", null, "content_filter"),
    "zhipu-sensitive": {
      contentFilter: [{ level: 1, role: "user" }],
      error: {
        code: "1301",
        message: "System detected potentially unsafe or sensitive content in input or generation.",
      },
    },
    "dashscope-inspection": error(
      "Input data may contain inappropriate content.",
      "data_inspection_failed",
      "data_inspection_failed",
    ),
    "litellm-policy": error("litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException", "400"),
    "volcengine-sensitive": coded(
      "SensitiveContentDetected",
      "The request failed because the input text may contain sensitive information.",
    ),
    "openai-moderation": error(
      "Your input was flagged by the moderation of this deployment.",
      "moderation_blocked",
      "image_generation_user_error",
    ),
    "zhipu-content": {
      contentFilter: [{ level: 1, role: "user" }],
      error: {
        code: "1301",
        message: "系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语，感谢您的配合。",
      },
    },
    "litellm-policy-2": error(
      "litellm.ContentPolicyViolationError: AzureException - The response was filtered due to the prompt triggering the content management policy.",
      "400",
    ),
    "acceptable-use": "This request violates our acceptable use policy.",
    classifier: error("The prompt trips our safety classifier (score 0.98).", "safety_block"),
    detected: "Potential self-harm content detected.",
    injection: error("Prompt injection detected by the firewall.", "prompt_blocked"),
    explicit: "Image rejected: explicit material.",
    harm: "We cannot help with this request because it may lead to harm.",
    "prohibited-use": error("Use case not permitted.", "PROHIBITED_USE"),
    "refused-topic": "This topic is not allowed here: weapons.",
    minors: "Content involving minors is refused.",
    copyright: "The answer was withheld because it repeats protected text.",
    "filter-hit": "Filter 'hate' matched with severity high.",
  }),
  ...refused(
    400,
    { "personal-data": "Your message contains personal data, which this gateway does not let through." },
    { also: ["invalid_request"] },
  ),
  ...refused(403, {
    "xai-usage-guidelines": {
      code: "The caller does not have permission to execute the specified operation",
      error: "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
    },
    "openrouter-moderation": {
      error: {
        message: 'openai/gpt-4o requires moderation on OpenAI. Your input was flagged for "violence".',
        code: 403,
        metadata: { reasons: ["violence"] },
      },
      user_id: "user_1",
    },
    "openrouter-flagged": openRouter(403, "Input flagged: violence, self-harm"),
    guardrail: { message: "Blocked by guardrail 'pii-out'" },
  }),
  ...refused(
    403,
    {
      "ai-policy": { message: "The organisation's AI policy does not permit this prompt." },
      malware: "Blocked: the prompt asks for malware.",
    },
    { also: ["auth_failed"] },
  ),
  ...refused(422, {
    prohibited: { error: { message: "The input contains prohibited content." } },
    nsfw: { detail: "NSFW input is not allowed." },
  }),
  ...refused(446, {
    "portkey-guardrail": error(
      "The guardrail checks defined in the config failed. You can find more information in the hook_results.",
      null,
      "hooks_failed",
    ),
  }),
];
