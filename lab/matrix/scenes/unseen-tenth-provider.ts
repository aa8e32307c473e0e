import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { say } from "../../../src/scripted-model/reply.ts";
import { bash, call, failed, refusal, type Scene } from "../scene.ts";
import { acts, after, allow, defaults, model, named, options, TWO_FAILURES } from "./unseen-tenth-parts.ts";

const also = { also: ["idle_timeout"] } as const;
const asked = (why: string, toolCalls = 1): Scene["label"] => failed("permission_denied", why, { toolCalls });
const same = call("grep", { pattern: "TODO" });

/** Refusals of providers in their makers' words, and questions that nobody answers. */
export const TENTH_PROVIDER: readonly Scene[] = named([
  {
    name: "key-openrouter",
    script: refusal(401, { message: "User not found.", code: 401 }),
    label: failed("auth_failed", "401 of OpenRouter"),
  },
  {
    name: "key-deepseek",
    script: refusal(401, {
      message: "Authentication Fails, Your api key: ****KEY is invalid",
      type: "authentication_error",
      param: null,
      code: "invalid_request_error",
    }),
    label: failed("auth_failed", "401 of DeepSeek"),
  },
  {
    name: "key-gone-after-two-calls",
    script: after([bash("echo a"), bash("echo b")], refusal(401, '{"detail":"Token has expired"}')),
    label: failed("auth_failed", "401 at the second request", { toolCalls: 2 }),
  },
  {
    name: "key-anthropic",
    api: "messages",
    script: refusal(
      401,
      '{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_011CT"}',
    ),
    label: failed("auth_failed", "401 of Anthropic"),
  },
  {
    name: "key-expired-in-stream",
    api: "messages",
    provider: "messages-tenth-key",
    label: failed("auth_failed", "an error of the key in a stream"),
  },
  {
    name: "filtered-after-call",
    script: after([bash("echo x")], () => say("This I", "content-filter")),
    label: failed("content_blocked", "the second answer ends for its content", { toolCalls: 1, finalText: "This I" }),
  },
  {
    name: "context-vllm",
    script: refusal(
      400,
      '{"object":"error","message":"This model\'s maximum context length is 32768 tokens. However, you requested 40012 tokens (35916 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}',
    ),
    label: failed("context_overflow", "400 of vLLM"),
  },
  {
    name: "context-anthropic",
    api: "messages",
    script: refusal(
      400,
      '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209353 tokens > 199999 maximum"}}',
    ),
    label: failed("context_overflow", "400 of Anthropic"),
  },
  {
    name: "parameter-mistral",
    script: refusal(
      422,
      '{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{"include_usage":true}}]},"type":"invalid_request_error","param":null,"code":null}',
    ),
    label: failed("invalid_request", "422 of Mistral"),
  },
  {
    name: "tools-not-taken",
    script: refusal(400, {
      message: "registry.ollama.ai/library/gemma3:4b does not support tools",
      type: "api_error",
      param: null,
      code: null,
    }),
    label: failed("invalid_request", "400 of Ollama"),
  },
  {
    name: "model-fireworks",
    config: model("accounts/fireworks/models/none"),
    script: refusal(404, {
      object: "error",
      type: "invalid_request_error",
      code: "NOT_FOUND",
      message: "Model not found, inaccessible, and/or not deployed",
    }),
    label: failed("model_not_found", "404 of Fireworks"),
  },
  {
    name: "port-closed",
    config: options({ baseURL: "http://127.0.0.1:1/v1" }),
    stop: TWO_FAILURES,
    label: failed("network_error", "nothing listens at another port", also),
  },
  {
    name: "port-closed-anthropic",
    api: "messages",
    config: options({ baseURL: "http://127.0.0.1:1/v1" }),
    label: failed("network_error", "nothing listens, until the CLI gives up"),
  },
  {
    name: "length",
    api: "messages",
    script: () => say("It is a long", "length"),
    label: failed("output_limit", "the answer meets its limit, through another API", { finalText: "It is a long" }),
  },
  {
    name: "credits-openrouter",
    script: refusal(402, {
      message:
        "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 0. To increase, visit https://openrouter.ai/settings/keys and create a key with a higher monthly limit",
      code: 402,
    }),
    label: failed("quota_exceeded", "402 of OpenRouter"),
  },
  {
    name: "credits-xai",
    script: refusal(
      429,
      '{"code":"Some resource has been exhausted","error":"Your team 16f2151a-40f4-4a80-8ad0-cae00c27e8dd has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit."}',
    ),
    label: failed("quota_exceeded", "429 of xAI for a team without credits, until the CLI gives up"),
  },
  {
    name: "rate-groq",
    script: refusal(429, {
      message:
        "Rate limit reached for model `m` in organization `org_01` service tier `on_demand` on requests per minute (RPM): Limit 30, Used 30, Requested 1. Please try again in 2s.",
      type: "requests",
      code: "rate_limit_exceeded",
    }),
    label: failed("rate_limited", "429 of Groq, until the CLI gives up"),
  },
  {
    name: "proxy-words-in-stream",
    provider: "chat-tenth-proxy-words",
    label: failed("provider_error", "a proxy's words in a stream, which are no JSON"),
  },
  {
    name: "another-dialect",
    api: "messages",
    provider: "messages-tenth-chat-dialect",
    label: failed("provider_error", "an answer in the words of another API", { also: ["executor_unavailable"] }),
  },
  {
    name: "ask-command",
    config: allow({ bash: { "*": "allow", "git push *": "ask" } }),
    script: acts([[bash("git push origin main")]]),
    label: asked("one command of all is asked about"),
  },
  {
    name: "ask-two-commands",
    config: allow({ bash: "ask" }),
    script: acts([[bash("make"), bash("make test")]]),
    label: failed("permission_denied", "two commands of one step are asked about", {
      toolCalls: 2,
      also: ["output_incomplete"],
    }),
  },
  {
    name: "ask-edit",
    config: allow({ edit: "ask" }),
    script: acts([[bash("echo fine")], [call("write", { filePath: "e.txt", content: "e" })]]),
    label: asked("a command, then a file is to be written, which is asked about", 2),
  },
  {
    name: "ask-same-call",
    config: allow({ doom_loop: "ask" }),
    script: acts([[same, same, same]]),
    label: failed("permission_denied", "the same search three times in a step is asked about"),
  },
  {
    name: "ask-secrets",
    config: defaults,
    prepare: ({ workspace }) => secrets(workspace),
    script: acts([[call("read", { filePath: "config/.env.production" })]]),
    label: asked("a file of secrets is asked about"),
  },
  {
    name: "ask-outside-search",
    config: defaults,
    script: acts([[call("grep", { pattern: "root", path: "/etc" })]]),
    label: asked("a search outside is asked about"),
  },
  {
    name: "ask-outside-read",
    config: allow({ external_directory: "ask" }),
    script: acts([[call("read", { filePath: "../../../etc/os-release" })]]),
    label: asked("a file outside is asked about"),
  },
  {
    name: "ask-outside-command",
    config: defaults,
    script: acts([[bash("cp /etc/hostname /var/tmp/none")]]),
    label: asked("a command that reaches outside is asked about"),
  },
  {
    name: "ask-outside-write",
    config: defaults,
    api: "messages",
    script: acts([[call("write", { filePath: "/var/tmp/none.txt", content: "n" })]]),
    label: asked("a file outside is to be written, which is asked about"),
  },
  {
    name: "ask-in-git",
    config: defaults,
    prepare: ({ workspace }) => inGit(workspace),
    script: acts([[call("write", { filePath: "../beside.txt", content: "b" })]]),
    label: asked("in a repository, a file beside it is to be written"),
  },
]);

/** Makes a repository with one file. */
function inGit(path: string): void {
  writeFileSync(join(path, "kept.txt"), "k\n");
  execFileSync("git", ["init", "-q", path]);
}

function secrets(path: string): void {
  mkdirSync(join(path, "config"));
  writeFileSync(join(path, "config/.env.production"), "A=1\n");
}
