import { describe, expect, test } from "vitest";
import { readAnswerBody } from "../../src/daemon/executors/providers/answer-body.ts";
import { PROSE } from "../../src/daemon/executors/providers/answer-prose.ts";
import { CODES, WORDS } from "../../src/daemon/executors/providers/answer-words.ts";
import { classify as classifyCliA } from "../../src/daemon/executors/cli-a/failures/failure.ts";
import { toErrorFact } from "../../src/daemon/executors/cli-a/failures/facts.ts";
import { toProviderFact } from "../../src/daemon/executors/cli-b/failures/facts.ts";
import { classify as classifyCliB } from "../../src/daemon/executors/cli-b/failures/failure.ts";

/** Sentences of each family, of other providers and versions, and sentences that only look like it. */
const FAMILIES: Readonly<
  Record<keyof typeof WORDS, { readonly yes: readonly string[]; readonly no: readonly string[] }>
> = {
  quota: {
    yes: [
      "Your trial has ended. Subscribe to continue.",
      "Prepaid balance of workspace 'x' is 0.00 USD.",
      "Monthly token allowance used up",
      "The spend cap for this project has been hit.",
      "Your payment method was declined.",
      "Your plan includes 200 requests per month; you have used 200.",
      "A valid credit card on file is needed: add a credit card.",
      "Your account has no funds left.",
      "You exceeded your current quota, please check your plan and billing details.",
      "Quota exceeded. Check your plan and billing details.",
      "Insufficient Balance",
      "insufficient_user_quota: user quota is 0",
      "Your credit balance is too low to access the API",
      "Your workspace is out of credits.",
      "Monthly spending limit reached",
      "You have reached your specified API usage limits",
      "Weekly usage limit exceeded for this key",
      "Your account has reached the set inference limit for the foo model",
      "账户余额不足，请充值后重试。",
      "Your prepayment credits are depleted.",
      "Your prepaid credits have run out",
      "Your account does not have sufficient funds",
      "Your free trial has ended. Please upgrade",
      "You have used up your daily free allocation of 10,000 neurons",
      "Monthly token limit reached for this key",
      "billing account is disabled",
      "Account mine is suspended, possibly due to reaching the monthly spending limit",
      "The request failed because your account has an overdue balance.",
    ],
    no: [
      "The schema of tool 'pay' has no property card",
      "budget_tokens must be less than max_tokens",
      "The trial run of tool `x` is not declared",
      "balance must be a number, got 0",
      "Permission denied on resource project quota-tests.",
      "Please retry after 20 seconds, see https://aka.ms/oai/quotaincrease.",
      "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 requests per day",
      "Need more tokens? Upgrade at https://console.groq.com/settings/billing",
      "The model's context limit is 8192 tokens",
      "Unbalanced brackets in the schema of tool `balance`",
      "The token limit of this model is 8192",
      "The request is overdue: its deadline was 10 seconds ago",
    ],
  },
  refill: {
    yes: [
      "Quota exceeded for quota metric 'Requests per minute' of service 'x'",
      "You exceeded your current quota. Please retry in 35.4s.",
      "Quota exceeded for TPM, please try again in 20 seconds",
    ],
    no: [
      "You exceeded your current quota, please check your plan and billing details.",
      "Usage limit reached for 5 hour. Your limit will reset at 20:00",
      "Please retry in 35.4s.",
    ],
  },
  rate: {
    yes: [
      "Rate limit reached for gpt-4o on requests per min (RPM)",
      "rate-limited upstream. Please retry shortly",
      "Too Many Requests",
      "You are sending requests too quickly",
      "Too many concurrent requests",
      "This request would exceed your organization's acceleration limit.",
      "Crossed TPM / RPM / Max Parallel Request Limit for key: sk-..1",
      "Requests rate limit exceeded",
      "Request was throttled. Expected available in 3 seconds.",
      "Resource has been exhausted (e.g. check quota).",
      "您的账户已达到速率限制",
    ],
    no: [
      "Too many images in request: 30 > 20",
      "The server rated this request as unsafe",
      "too many tools: 200 > 128",
      "max requests 10 in this schema",
    ],
  },
  context: {
    yes: [
      "System prompt and messages together are over the 32768 token limit.",
      "Sequence length 9001 is larger than the model's maximum of 8192 positions",
      "too many tokens: size limit exceeded by 10000 tokens",
      "number of input tokens must be no more than 8192, got 12000",
      "prompt_tokens (9000) + max_new_tokens (1024) must be <= 8192",
      "This conversation does not fit into the model's window",
      "prompt is too long: 210000 tokens > 200000 maximum",
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
      "Your input exceeds the context window of this model",
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      "prompt token count of 135000 exceeds the limit of 128000",
      "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000",
      "Input is too long for requested model.",
      "context window exceeds limit",
      "The number of tokens to keep from the initial prompt is greater than the context length",
      "Prompt contains 140000 tokens, too large for model with 131072 maximum context length",
      "Please reduce the length of the messages or completion.",
      "Your request exceeded model token limit: 131072",
      "Codex ran out of room in the model's context window.",
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 280000 tokens.",
      "This model supports at most 8192 tokens",
      "Please shorten your prompt",
      "too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 140000.",
      "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
      "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens",
    ],
    no: [
      "max_tokens must be at most 8192 for this model.",
      "Used more than 30000 tokens per minute",
      "The answer has more than 4096 output tokens",
      "input tokens: a list is expected",
      "a request of more than 20 images",
      "Service Unavailable: context deadline exceeded: context deadline exceeded",
      "Unsupported parameter: 'max_tokens' is not supported with this model",
      "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens",
      "Unexpected token < in JSON at position 0",
      "Invalid token: the access token is too long to be valid",
      "image exceeds 5 MB maximum",
      "the number of output tokens exceeds the limit of 4096",
      "Invalid 'input[0].name': string too long",
      "Rate limit reached on tokens per min (TPM): Limit 30000",
    ],
  },
  content: {
    yes: [
      "This request violates our acceptable use policy.",
      "The prompt trips our safety classifier (score 0.98).",
      "The guardrail checks defined in the config failed.",
      "Input flagged: violence, self-harm",
      "The tool's output was flagged.",
      "Blocked by guardrail 'pii-out'",
      "Content Exists Risk",
      "Input data may contain inappropriate content.",
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      "Your request was rejected as a result of our safety system.",
      "Output blocked by content filtering policy",
      'Your input was flagged for "violence".',
      "This request was flagged for possible cybersecurity risk.",
      "The request violates our usage policies",
      "The response was blocked because of prohibited content",
      "Guardrail intervened.",
      "Your input was flagged by our moderation system",
      "The request failed because the input text may contain sensitive information.",
    ],
    no: [
      "Unknown value 'strictest' for field content_filter_level.",
      "Unknown parameter: 'safety_identifier'",
      "safety_settings[0].threshold: value BLOCK_SOME is not allowed.",
      "Invalid 'moderation': expected a boolean",
      "Invalid schema for function 'content_filter'",
      "Invalid content type: expected application/json",
      "content: field required",
      "File names are case sensitive.",
      "Access blocked by Cloudflare.",
    ],
  },
  model: {
    yes: [
      "unknown engine 'm'",
      "Model 'm' isn't available in region eu-west-1.",
      "m was sunset. Migrate to n.",
      "no such deployment: m",
      "The LoRA adapter `m` does not exist.",
      "This model version has reached the end of its life.",
      "model 'command' was removed on September 15, 2025.",
      "O modelo `m` não existe.",
      "Das Modell wurde nicht gefunden.",
      "The model `gpt-9` does not exist or you do not have access to it.",
      'model "foo" not found, try pulling it first',
      "Model Not Exist",
      "models/gemini-9 is not found for API version v1beta",
      "Invalid model name passed in model=foo",
      "Unknown Model, please check the model code.",
      "foo/bar is not a valid model ID",
      "No endpoints found for foo/bar.",
      "The 'gpt-5' model is not supported when using Codex with a ChatGPT account.",
      "The provided model identifier is invalid.",
      "Unable to access model foo.",
      "model: claude-none",
      "No models loaded. Please load a model in the developer page.",
      "Model is not available",
      "unsupported model: foo",
      "The model gpt-9 is not available in your region",
      "model foo is disabled for this project",
      "The requested model is currently not supported",
      "No endpoints found matching your data policy.",
      "Model 'foo' is not supported for this environment.",
      "Your organization must be verified to use the model `gpt-9`.",
    ],
    no: [
      "This model does not support image input.",
      "The parameter 'top_k' was removed",
      "The model does not support reasoning effort 'minimal'.",
      "Deployment of tools is not possible",
      "Not Found",
      "The signature could not be verified",
      "model: the field is required",
      "This model is not supported with streaming",
      "The model is not available right now, try again",
      "This model answers, but tool_choice is not supported by this provider",
      "Invalid URL (POST /v1/responses)",
      "The model is currently overloaded",
      "Unsupported parameter: 'max_tokens' is not supported with this model.",
      "model requires more system memory (5.6 GiB) than is available",
      "Invalid model output: expected an object",
      "No tool output found for function call call_1.",
    ],
  },
  key: {
    yes: [
      "Malformed bearer token",
      "Token has been expired or revoked.",
      "The request signature we calculated does not match the signature you provided.",
      "This organization has been disabled.",
      "Incorrect API key provided: sk-bad.",
      "API key not valid. Please pass a valid API key.",
      "invalid x-api-key",
      "Authentication Fails (no such user)",
      "Invalid Authentication",
      "The access token has expired",
      "No API key provided",
      "You are not authenticated",
      "Unauthorized",
    ],
    no: [
      "Account x is suspended, possibly due to reaching the monthly spending limit",
      "The user interface is disabled",
      "thought signature is missing",
      "Invalid token in JSON",
      "Unexpected token after the credentials field",
      "Duplicate key in object",
      "Invalid key 'foo' in tool parameters",
      "keyboard input is invalid",
    ],
  },
  failed: {
    yes: [
      "Overloaded",
      "The model is overloaded. Please try again later.",
      "Service unavailable",
      "upstream connect error or disconnect/reset before headers",
      "Selected model is at capacity. Please try a different model.",
      "We're currently experiencing high demand, which may cause temporary errors.",
      "Internal Server Error",
      "Provider returned error",
    ],
    no: ["The operator + is overloadable", "Your request has an error", "invalid request"],
  },
  request: {
    yes: [
      "Bad Request",
      "Unknown parameter: 'include[2]'.",
      "stream disconnected before completion: Invalid value: 'x'.",
    ],
    no: ["The server had an error", "A bad request came before"],
  },
  slow: {
    yes: ["The operation timed out.", "Request timed out", "context deadline exceeded", "Timeout exceeded"],
    no: ["Invalid parameter: timeout must be positive", "terminated command after exceeding timeout 5 ms"],
  },
  network: {
    yes: [
      "Unable to connect. Is the computer able to access the url?",
      "connect ECONNREFUSED 127.0.0.1:9",
      "getaddrinfo ENOTFOUND api.example",
      "self-signed certificate in certificate chain",
      "Connection reset by server",
      "socket hang up",
      "fetch failed",
      "The response redirected too many times. For more information, pass `verbose: true` in the second argument to fetch()",
      "stream disconnected before completion: too many redirects",
      "dns error: failed to lookup address information",
    ],
    no: ["Connection pooling is not supported", "networking is off in this tool's schema", "failed to fetchall rows"],
  },
};

describe.each(Object.entries(FAMILIES))("the words of %s", (family, { yes, no }) => {
  const pattern = WORDS[family as keyof typeof WORDS];
  test.each(yes)("match %j", (sentence) => expect(sentence).toMatch(pattern));
  test.each(no)("leave %j alone", (sentence) => expect(sentence).not.toMatch(pattern));
});

/** Prose about each subject, and sentences about the form of a request or about something else that has its words. */
const SUBJECTS: Readonly<
  Record<keyof typeof PROSE, { readonly yes: readonly string[]; readonly no: readonly string[] }>
> = {
  quota: {
    yes: ["Wallet is empty.", "Invoice 2231 has not been paid.", "You owe 12.40 EUR.", "Remaining token quota: 0."],
    no: [
      "The result of tool 'get_balance' must not be an empty string.",
      "'expired' is not a valid value for field 'subscription_state'.",
      "Unknown parameter: 'credits'.",
      "tools[2] has a schema with a property credits",
    ],
  },
  content: {
    yes: ["Potential self-harm content detected.", "Image rejected: explicit material.", "NSFW input is not allowed."],
    no: [
      "safety_settings[0].threshold: value BLOCK_SOME is not allowed.",
      "'violence' is not a valid value for category.",
    ],
  },
  context: {
    yes: [
      "Message history of 412 entries totals 260123 tokens; the ceiling is 200000.",
      "n_tokens=9000 > n_ctx=8192",
      "Please start a new chat, this one has become too long.",
      "Input is 1203 tokens over the limit of this model.",
    ],
    no: [
      "Too many images in this prompt: 21, at most 20.",
      "max_completion_tokens is too large: 200000. This model supports at most 128000 completion tokens.",
      "Tokens per minute: limit 10000, used 10000.",
      "The name of this conversation is too long.",
    ],
  },
  model: {
    yes: [
      "Cannot find a provider for model m.",
      "The snapshot m-2024-05-13 isn't offered any more.",
      "m is not one of the models that this endpoint serves: a, b.",
      "stream disconnected before completion: This model is not offered in your region.",
    ],
    no: [
      "This model does not support image input.",
      "No output of the model was kept.",
      "The model is not available right now.",
      "Unsupported parameter: 'top_k' is not known to this model.",
      "The model's tools must not be empty.",
    ],
  },
  key: {
    yes: [
      "Header 'x-api-key' is empty.",
      "Authorization header must start with 'Bearer '",
      "This API key was rotated; use the newest one.",
    ],
    no: [
      "Duplicate key 'token' in metadata.",
      "Unexpected field api_key",
      "The key of a map is expected to be a string",
    ],
  },
};

describe.each(Object.entries(SUBJECTS))("prose about %s", (subject, { yes, no }) => {
  const pattern = PROSE[subject as keyof typeof PROSE];
  test.each(yes)("matches %j", (sentence) => expect(sentence).toMatch(pattern));
  test.each(no)("leaves %j alone", (sentence) => expect(sentence).not.toMatch(pattern));
});

test.each([
  [CODES.quota, "insufficient_quota insufficient_quota", "invalid_request_error"],
  [CODES.quota, "403 billing_not_active", "quota_project_unset"],
  [CODES.quota, "AccountOverdueError", "AccountError"],
  [CODES.content, "SensitiveContentDetected", "CaseSensitiveName"],
  [CODES.context, "invalid_request_error context_length_exceeded", "context_length"],
  [CODES.content, "content_filter ResponsibleAIPolicyViolation", "content_filter_config_missing"],
  [CODES.model, "DeploymentNotFound", "model_error"],
  [CODES.key, "400 INVALID_ARGUMENT API_KEY_INVALID", "INVALID_ARGUMENT"],
  [CODES.rate, "rate_limit_error", "rate_limit_settings_invalid"],
  [CODES.failed, "overloaded_error", "INTERNAL_TOOL_MISSING"],
  [CODES.request, "invalid_request_error", "invalid_request_errors_total"],
  [CODES.slow, "timeout_error", "timeout_invalid"],
])("codes match whole words: %s matches %j and not %j", (pattern, yes, no) => {
  expect(yes).toMatch(pattern);
  expect(no).not.toMatch(pattern);
});

describe("structured fields outweigh words", () => {
  const ofCliA = (name: string, data: { message: string; statusCode?: number; responseBody?: string }): string =>
    classifyCliA([toErrorFact({ name, data }, 1)]).code;
  const ofCliB = (message: string): string =>
    classifyCliB([toProviderFact(message, { line: 1, hasItems: false })]).code;

  test.each([
    [401, "Rate limit reached for unknown model, prompt is too long", "auth_failed"],
    [403, "The model does not exist in your project", "auth_failed"],
    [429, "The model is overloaded, prompt is too long", "rate_limited"],
    [500, "Incorrect API key provided to upstream", "provider_error"],
    [503, "rate limit service unavailable", "provider_error"],
    [400, "Rate limit header is malformed", "invalid_request"],
    [422, "field max_tokens: unexpected token", "invalid_request"],
  ])("%i %j is %s for both CLIs", (status, message, code) => {
    expect(ofCliA("APIError", { message, statusCode: status })).toBe(code);
    if (status === 400) expect(ofCliB(JSON.stringify({ error: { message } }))).toBe(code);
    else expect(ofCliB(`unexpected status ${status} Reason: ${message}, url: http://x/v1/responses`)).toBe(code);
  });

  test("the words of an address match nothing", () => {
    const url = "http://x/model/does-not-exist/rate-limit/quota-exceeded/v1/responses";
    expect(ofCliB(`unexpected status 404 Not Found: no such page, url: ${url}`)).toBe("executor_unavailable");
    expect(ofCliB(`unexpected status 401 Unauthorized: , url: ${url}`)).toBe("auth_failed");
  });

  test.each([
    'Type validation failed: Value: {"choices":[{"delta":{"content":"rate limit, quota exceeded, prompt is too long"}}]}.',
    "JSON parsing failed: Text: the model does not exist, invalid api key.",
  ])("what quotes the model's own text is a malformed answer: %j", (message) => {
    expect(ofCliA("UnknownError", { message })).toBe("provider_error");
  });

  test("an error inside a stream is read by its code and by the status in it", () => {
    const inStream = (body: unknown): string => ofCliA("UnknownError", { message: JSON.stringify(body) });
    expect(inStream({ type: "rate_limit_error", message: "slow" })).toBe("rate_limited");
    expect(inStream({ error: { code: 429, message: "Provider returned error" } })).toBe("rate_limited");
    expect(inStream({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } })).toBe(
      "provider_error",
    );
    expect(inStream("You exceeded your current quota")).toBe("quota_exceeded");
    expect(inStream("boom")).toBe("provider_error");
  });
});

describe("readAnswerBody", () => {
  test.each([
    ['{"error":{"message":"no","type":"t","code":"c"}}', { codes: "c t", sentence: "no" }],
    [
      '[{"error":{"code":400,"message":"no","status":"S","details":[{"reason":"R"},7]}}]',
      { codes: "400 S R", sentence: "no", status: 400 },
    ],
    ['{"code":"c","error":"no"}', { codes: "c", sentence: "no" }],
    ['{"detail":"no"}', { sentence: "no" }],
    ['{"message":{"detail":[{"loc":["a"]}]},"type":"t"}', { codes: "t", sentence: '{"detail":[{"loc":["a"]}]}' }],
    [
      '{"error":{"code":429,"message":"wrapped","metadata":{"raw":"the cause"}}}',
      { codes: "429", sentence: "wrapped: the cause", status: 429 },
    ],
    [
      '{"type":"response.failed","response":{"error":{"code":"c","message":"no"}}}',
      { codes: "c response.failed", sentence: "no" },
    ],
    ['{"error":{"code":"1113","message":"no"}}', { codes: "1113", sentence: "no" }],
    ['"no"', { sentence: "no" }],
    ["{}", {}],
    ['{"error":null}', {}],
    ['{"error":[1,{}],"message":7}', {}],
  ])("reads %s", (body, read) => {
    expect(readAnswerBody(body)).toEqual(read);
  });

  test.each(["", "<html>502</html>", '{"error":{"message":"cut of', "null", "12", "error code: 520"])(
    "takes %j for no body",
    (body) => {
      expect(readAnswerBody(body)).toBeUndefined();
    },
  );

  test("bounds what it keeps", () => {
    const { sentence = "" } = readAnswerBody(JSON.stringify({ message: "x".repeat(100_000) })) ?? {};
    expect(sentence.length).toBeLessThanOrEqual(2_000);
  });
});
