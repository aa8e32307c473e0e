import { wholeFile, type CliBCase } from "./case.ts";
import { answer, broken, failed, HANG, incomplete, page, RESET, shell, text } from "./replies.ts";
import { body, DONE, fails, insert } from "./unseen-ninth-parts.ts";

const NO_RETRIES = {
  variables: {
    toml: wholeFile()
      .replace("request_max_retries = 1", "request_max_retries = 0")
      .replace("stream_max_retries = 1", "stream_max_retries = 0"),
  },
};
const toml = (more: string): string => wholeFile(`[features]\nunbounded_connection_retries = false\n${more}`);

/** Refusals of makers and gateways, in their own bodies. */
export const NINTH_PROVIDER_CASES: readonly CliBCase[] = [
  fails(
    "ninth-key-groq",
    "auth_failed",
    "Groq's 401",
    body(401, { error: { message: "Invalid API Key", type: "invalid_request_error", code: "invalid_api_key" } }),
  ),
  fails(
    "ninth-key-openrouter",
    "auth_failed",
    "OpenRouter's 401, retries off",
    body(401, { error: { message: "No auth credentials found", code: 401 } }),
    NO_RETRIES,
  ),
  fails(
    "ninth-key-bedrock",
    "auth_failed",
    "Bedrock's 401",
    body(401, {
      error: {
        code: "invalid_api_key",
        message: "The security token included in the request is invalid.",
        param: null,
        type: "authentication_error",
      },
    }),
  ),
  fails(
    "ninth-path-kong",
    "executor_unavailable",
    "no Responses API: Mistral's gateway has no such path",
    body(404, { message: "no Route matched with those values" }),
  ),
  fails(
    "ninth-path-llama-cpp",
    "executor_unavailable",
    "no Responses API: an old llama.cpp",
    body(404, { error: { code: 404, message: "File Not Found", type: "not_found_error" } }),
  ),
  fails(
    "ninth-method-fastapi",
    "executor_unavailable",
    "no Responses API: 405 of FastAPI",
    body(405, { detail: "Method Not Allowed" }, { allow: "GET" }),
  ),
  fails(
    "ninth-not-implemented",
    "executor_unavailable",
    "no Responses API: 501",
    body(501, {
      error: { code: 501, message: "This server does not support the Responses API.", type: "not_supported_error" },
    }),
    { label: { also: ["provider_error"] } },
  ),
  fails(
    "ninth-answer-lm-studio",
    "executor_unavailable",
    "LM Studio's 200 with plain JSON for a path it does not know",
    body(200, { error: "Unexpected endpoint or method. (POST /v1/responses)" }),
    { label: { also: ["network_error", "provider_error"] } },
  ),
  fails("ninth-wire-chat", "executor_unavailable", "the chat protocol is configured", DONE, {
    variables: { toml: toml("").replace('wire_api = "responses"', 'wire_api = "chat"') },
    label: { also: ["config_invalid"] },
  }),
  fails(
    "ninth-model-ollama",
    "model_not_found",
    "Ollama's 404",
    body(404, {
      error: { message: "model 'qwen3-coder:480b' not found", type: "not_found_error", param: null, code: null },
    }),
    { variables: { CLI_B_MODEL: "qwen3-coder:480b" } },
  ),
  fails(
    "ninth-model-bedrock",
    "model_not_found",
    "Bedrock's 404",
    body(404, {
      error: {
        code: "not_found_error",
        message: "The model 'gpt-5.4-mini' does not exist",
        param: null,
        type: "invalid_request_error",
      },
    }),
    { variables: { CLI_B_MODEL: "gpt-5.4-mini" } },
  ),
  fails(
    "ninth-context-vllm",
    "context_overflow",
    "vLLM's overflow",
    body(400, {
      error: {
        message:
          "This model's maximum context length is 32768 tokens. However, your request has 41077 input tokens. Please reduce the length of the input messages.",
        type: "BadRequestError",
        param: "input_tokens",
        code: 400,
      },
    }),
  ),
  fails(
    "ninth-context-openai-after-tool",
    "context_overflow",
    "OpenAI's overflow inside the stream, after a command",
    DONE,
    {
      replies: [
        answer(shell("seq 1 9")),
        broken(
          failed(
            "context_length_exceeded",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
          ),
        ),
      ],
      label: { tools: 1 },
    },
  ),
  fails(
    "ninth-rate-azure",
    "rate_limited",
    "Azure's 429",
    body(429, {
      error: {
        code: "RateLimitReached",
        message:
          "Your requests to gpt-5.4 for gpt-5.4 in East US 2 have exceeded the token rate limit for your current OpenAI S0 pricing tier. This request was for Responses_Create under Azure OpenAI API. Please retry after 17 seconds.",
      },
    }),
  ),
  fails(
    "ninth-rate-in-stream",
    "rate_limited",
    "OpenAI's rate limit inside the stream",
    broken(
      failed(
        "rate_limit_exceeded",
        "Rate limit reached for gpt-5.4 in organization org-lab on tokens per min (TPM): Limit 30000, Used 29211, Requested 5120. Please try again in 8.662s. Visit https://platform.openai.com/account/rate-limits to learn more.",
      ),
    ),
    NO_RETRIES,
  ),
  fails(
    "ninth-server-error-vllm",
    "provider_error",
    "vLLM's 500",
    body(500, {
      error: {
        message: "EngineCore encountered an issue. See stack trace (above) for the root cause.",
        type: "InternalServerError",
        param: null,
        code: 500,
      },
    }),
  ),
  fails(
    "ninth-unavailable-envoy",
    "provider_error",
    "Envoy's 503",
    page(503, "no healthy upstream", { "content-type": "text/plain" }),
  ),
  fails(
    "ninth-overloaded-in-stream",
    "provider_error",
    "overloaded inside the stream",
    broken(failed("server_is_overloaded", "Our servers are currently overloaded. Please try again later.")),
    { variables: { CLI_B_MODEL: "gpt-5.5" }, label: { also: ["rate_limited"] } },
  ),
  fails(
    "ninth-server-error-no-retries",
    "provider_error",
    "OpenAI's 500 with a request id, retries off",
    body(
      500,
      {
        error: {
          message:
            "An error occurred while processing your request. You can retry your request, or contact us through our help center at help.openai.com if the error persists. Please include the request ID req_9f2 in your message.",
          type: "server_error",
          param: null,
          code: "server_error",
        },
      },
      { "x-request-id": "req_9f2" },
    ),
    NO_RETRIES,
  ),
  fails(
    "ninth-bad-gateway-cloudflare",
    "provider_error",
    "Cloudflare's 520",
    page(520, "error code: 520", { "content-type": "text/plain" }),
  ),
  fails("ninth-refused", "network_error", "connection refused", DONE, {
    variables: { CLI_B_BASE_URL: "http://127.0.0.1:1/v1" },
  }),
  fails(
    "ninth-cut",
    "network_error",
    "the stream is cut again and again",
    broken("reset", text("I be"), text("gin.")),
    {
      label: { text: "gin." },
    },
  ),
  fails("ninth-closed", "network_error", "the connection is closed before any answer, again and again", RESET, {
    variables: { toml: toml("") },
  }),
  fails("ninth-tls", "network_error", "TLS where none is spoken", DONE, {
    variables: { toml: toml("") },
    args: (args, { modelUrl }) =>
      insert("-c", `model_providers.mine.base_url="${modelUrl.replace("http:", "https:")}"`)(args),
  }),
  fails("ninth-default-provider", "network_error", "the default provider cannot be reached", DONE, {
    variables: {
      toml: 'model = "gpt-5.5"\nsandbox_mode = "danger-full-access"\n[features]\nunbounded_connection_retries = false\n',
    },
    env: { CODEX_API_KEY: "FAKE-LAB-KEY-A" },
  }),
  fails(
    "ninth-flagged-in-stream",
    "content_blocked",
    "the prompt is flagged",
    broken(
      failed(
        "invalid_prompt",
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
      ),
    ),
    { label: { also: ["invalid_request"] } },
  ),
  fails(
    "ninth-output-filtered",
    "content_blocked",
    "the answer is stopped by a filter",
    broken(incomplete("content_filter"), text("The first")),
    {
      label: { text: "The first" },
    },
  ),
  fails(
    "ninth-credits-huggingface",
    "quota_exceeded",
    "Hugging Face's 402",
    body(402, {
      error:
        "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly included credits.",
    }),
  ),
  fails(
    "ninth-bad-request-openrouter",
    "invalid_request",
    "OpenRouter takes no tools of this kind",
    body(400, {
      error: { code: "invalid_prompt", message: "Invalid Responses API request" },
      metadata: {
        raw: '[{"code":"invalid_union","path":["tools",12],"message":"Invalid input","errors":[{"code":"invalid_value","values":["openrouter:datetime"]}]}]',
      },
    }),
  ),
  fails(
    "ninth-bad-request-xai-to-file",
    "invalid_request",
    "xAI's 400, with -o",
    body(400, {
      code: "Client specified an invalid argument",
      error: "Argument not supported on this model: presencePenalty",
    }),
    { args: insert("-o", "/tmp/ninth-last-2.txt") },
  ),
  fails("ninth-hangs", "idle_timeout", "the provider accepts and never answers, after a command", HANG, {
    replies: [answer(shell("echo one")), HANG],
    stop: { when: /"item\.completed"[^\n]*echo one/, signals: ["SIGKILL"], by: "idle_timeout" },
    label: { tools: 1 },
  }),
  fails(
    "ninth-stalls",
    "provider_timeout",
    "headers and a beginning, then silence, retries off",
    broken("hang"),
    NO_RETRIES,
  ),
];
