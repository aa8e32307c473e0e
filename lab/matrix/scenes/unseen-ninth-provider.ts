import { say } from "../../../src/scripted-model/reply.ts";
import { failed, type Scene } from "../scene.ts";
import { afterTool, body, bundled, KILLED } from "./unseen-ninth-parts.ts";

/** Refusals of makers and gateways, in their own bodies. */
export const NINTH_PROVIDER: readonly Scene[] = [
  {
    name: "ninth-key-deepseek",
    script: body(401, {
      error: {
        message: "Authentication Fails, Your api key: ****b6f2 is invalid",
        type: "authentication_error",
        param: null,
        code: "invalid_request_error",
      },
    }),
    label: failed("auth_failed", "DeepSeek's 401"),
  },
  {
    name: "ninth-key-mistral-after-tool",
    script: afterTool(body(401, { detail: "Unauthorized" }), "cat /dev/null"),
    label: failed("auth_failed", "Mistral's 401 after a tool step", { toolCalls: 1 }),
  },
  {
    name: "ninth-key-anthropic",
    api: "messages",
    script: body(401, {
      type: "error",
      error: { type: "authentication_error", message: "invalid x-api-key" },
      request_id: "req_011CUxYzABCdefGHI",
    }),
    label: failed("auth_failed", "Anthropic's 401"),
  },
  {
    name: "ninth-key-azure",
    script: body(401, {
      error: {
        code: "401",
        message:
          "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.",
      },
    }),
    label: failed("auth_failed", "Azure's 401"),
  },
  {
    name: "ninth-permission-vertex",
    script: body(403, [
      {
        error: {
          code: 403,
          message:
            "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/lab/locations/us-central1/endpoints/openapi' (or it may not exist).",
          status: "PERMISSION_DENIED",
        },
      },
    ]),
    label: failed("auth_failed", "Vertex's 403, in a list as its OpenAI endpoint sends it"),
  },
  {
    name: "ninth-credits-openrouter",
    script: body(402, {
      error: {
        message:
          "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 1107. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account",
        code: 402,
        metadata: { provider_name: null },
      },
      user_id: "user_2x",
    }),
    label: failed("quota_exceeded", "OpenRouter's 402"),
  },
  {
    name: "ninth-credits-xai",
    script: body(403, {
      code: "The caller does not have permission to execute the specified operation",
      error:
        "Your team 16f2151a has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.",
    }),
    label: failed("quota_exceeded", "xAI's 403 of a team without credits"),
  },
  {
    name: "ninth-rate-mistral-killed",
    logs: "ERROR",
    script: body(429, {
      object: "error",
      message: "Service tier capacity exceeded for this model.",
      type: "service_tier_capacity_exceeded",
      param: null,
      code: "3505",
    }),
    stop: KILLED,
    label: failed("rate_limited", "Mistral's 429 again and again, ERROR log on stderr", { also: ["idle_timeout"] }),
  },
  {
    name: "ninth-rate-cerebras",
    script: body(429, {
      message: "Tokens per minute limit exceeded - too many tokens processed.",
      type: "too_many_tokens_error",
      param: "quota",
      code: "token_quota_exceeded",
    }),
    label: failed("rate_limited", "Cerebras' 429 until the CLI gives up"),
  },
  {
    name: "ninth-rate-no-log",
    logs: "none",
    script: body(429, { message: "Too many tokens, please wait before trying again." }),
    stop: { asked: 2, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("idle_timeout", "Bedrock's 429, no log: nothing proves the cause"),
  },
  {
    name: "ninth-context-llama-cpp",
    script: body(400, {
      error: {
        code: 400,
        message:
          "the request exceeds the available context size. try increasing the context size or enable context shift",
        type: "exceed_context_size_error",
        n_prompt_tokens: 14429,
        n_ctx: 8192,
      },
    }),
    label: failed("context_overflow", "llama.cpp's overflow"),
  },
  {
    name: "ninth-context-anthropic",
    api: "messages",
    script: body(400, {
      type: "error",
      error: {
        type: "invalid_request_error",
        message:
          "input length and `max_tokens` exceed context limit: 190411 + 32000 > 200000, decrease input length or `max_tokens` and try again",
      },
      request_id: "req_011CV2",
    }),
    label: failed("context_overflow", "Anthropic's overflow by input and max_tokens"),
  },
  {
    name: "ninth-five-hundred-warn-log",
    logs: "WARN",
    script: body(500, [
      {
        error: {
          code: 500,
          message:
            "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
          status: "INTERNAL",
        },
      },
    ]),
    stop: KILLED,
    label: failed("provider_error", "Gemini's 500 again and again, WARN log on stderr", { also: ["idle_timeout"] }),
  },
  {
    name: "ninth-bad-gateway-nginx",
    script: body(
      502,
      "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.27.4</center>\r\n</body>\r\n</html>\r\n",
    ),
    label: failed("provider_error", "nginx' 502 until the CLI gives up"),
  },
  {
    name: "ninth-filtered-prompt-azure",
    script: body(400, {
      error: {
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766",
        type: null,
        param: "prompt",
        code: "content_filter",
        status: 400,
        innererror: {
          code: "ResponsibleAIPolicyViolation",
          content_filter_result: { jailbreak: { filtered: true, detected: true } },
        },
      },
    }),
    label: failed("content_blocked", "Azure's content filter"),
  },
  {
    name: "ninth-length-after-tool",
    script: afterTool(() => say("The listing shows that", "length"), "ls"),
    label: failed("output_limit", "finish reason length after a tool", {
      toolCalls: 1,
      finalText: "The listing shows that",
    }),
  },
  {
    name: "ninth-bad-request-vllm",
    script: body(400, {
      object: "error",
      message: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
      type: "BadRequestError",
      param: null,
      code: 400,
    }),
    label: failed("invalid_request", "vLLM without a parser for tools"),
  },
  {
    name: "ninth-bad-request-ollama",
    script: body(400, {
      error: {
        message: "registry.ollama.ai/library/gemma3:12b does not support tools",
        type: "invalid_request_error",
        param: null,
        code: null,
      },
    }),
    label: failed("invalid_request", "Ollama's model has no tools"),
  },
  {
    name: "ninth-model-azure",
    script: body(404, {
      error: {
        code: "DeploymentNotFound",
        message:
          "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.",
      },
    }),
    label: failed("model_not_found", "Azure has no such deployment"),
  },
  {
    name: "ninth-model-anthropic",
    api: "messages",
    script: body(404, {
      type: "error",
      error: { type: "not_found_error", message: "model: claude-sonnet-9-2" },
      request_id: "req_011CV5",
    }),
    label: failed("model_not_found", "Anthropic knows no such model"),
  },
  {
    name: "ninth-no-key-openai",
    config: bundled("@ai-sdk/openai", ({ provider }) => void delete provider.lab.options["apiKey"]),
    label: failed("credential_missing", "no key for OpenAI's adapter", { also: ["auth_failed"] }),
  },
];
