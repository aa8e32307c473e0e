import { say } from "../../../src/scripted-model/reply.ts";
import { failed, type Scene } from "../scene.ts";
import { afterTool, bundled, KILLED, options } from "./unseen-ninth-parts.ts";

/** Answers that are none, break off, or never come. */
export const NINTH_FAULTS: readonly Scene[] = [
  {
    name: "ninth-page-for-an-answer",
    script: () => ({
      type: "page",
      html: "<!DOCTYPE html>\n<html>\n<head>\n<title>Welcome to nginx!</title>\n</head>\n<body><h1>Welcome to nginx!</h1></body>\n</html>\n",
    }),
    stop: { shows: /"step_finish"/g, times: 6, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("provider_error", "200 with HTML: empty steps without a reason", {
      also: ["output_incomplete", "executor_unavailable", "idle_timeout"],
    }),
  },
  {
    name: "ninth-engine-dies-in-stream",
    provider: "chat-ninth-vllm",
    label: failed("provider_error", "vLLM's engine dies inside the stream"),
  },
  {
    name: "ninth-router-error-in-stream",
    provider: "chat-ninth-router",
    stop: KILLED,
    label: failed("provider_error", "OpenRouter's 502 inside the stream", {
      also: ["idle_timeout", "provider_timeout"],
    }),
  },
  {
    name: "ninth-anthropic-error-in-stream",
    api: "messages",
    provider: "messages-ninth-broken",
    stop: KILLED,
    label: failed("provider_error", "Anthropic's api_error inside the stream", { also: ["idle_timeout"] }),
  },
  {
    name: "ninth-no-finish-reason",
    script: () => say("Half of what there is", "none"),
    stop: { shows: /"step_finish"/g, times: 5, signal: "SIGKILL", endedBy: "turn_timeout" },
    label: failed("provider_error", "streams end without a finish reason, the turn's watchdog ends it", {
      also: ["turn_timeout", "idle_timeout", "output_incomplete", "network_error"],
      finalText: "Half of what there is",
    }),
  },
  {
    name: "ninth-frame-is-no-json",
    provider: "chat-ninth-no-json",
    label: failed("provider_error", "a frame of the stream is Envoy's sentence"),
  },
  {
    name: "ninth-other-dialect",
    provider: "responses-ninth-chat",
    config: bundled("@ai-sdk/openai"),
    label: failed("provider_error", "the provider answers in another dialect", { also: ["executor_unavailable"] }),
  },
  {
    name: "ninth-timeout-after-tool",
    config: options({ timeout: 3000 }),
    script: afterTool(() => ({ type: "hang" }), "sleep 1"),
    label: failed("provider_timeout", "no answer to the second request within options.timeout", { toolCalls: 1 }),
  },
  {
    name: "ninth-stall-anthropic",
    api: "messages",
    config: options({ chunkTimeout: 1500 }),
    script: () => say("It begins and", "stall"),
    label: failed("provider_timeout", "the stream stalls for longer than chunkTimeout"),
  },
  {
    name: "ninth-refused-port-one",
    config: options({ baseURL: "http://127.0.0.1:1/v1" }),
    label: failed("network_error", "nothing listens"),
  },
  {
    name: "ninth-unknown-host-killed",
    config: options({ baseURL: "http://llm.internal.invalid:8000/v1" }),
    stop: KILLED,
    label: failed("network_error", "a host that no name server knows", { also: ["idle_timeout"] }),
  },
  {
    name: "ninth-cut-no-log",
    logs: "none",
    script: () => say("A part of", "cut"),
    stop: { shows: /"step_start"/g, times: 3, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("idle_timeout", "streams are cut again and again, no log says so", {
      also: ["network_error", "provider_error"],
    }),
  },
  {
    name: "ninth-cut-to-the-end",
    api: "messages",
    script: () => say("A part of it", "cut"),
    label: failed("network_error", "every stream is cut until the CLI gives up", { also: ["provider_error"] }),
  },
  {
    name: "ninth-filtered-without-text",
    provider: "chat-ninth-filtered",
    label: failed("content_blocked", "finish reason content_filter, no text"),
  },
  {
    name: "ninth-hangs",
    script: afterTool(() => ({ type: "hang" }), "echo before the silence"),
    stop: { asked: 2, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("idle_timeout", "the second request is never answered, INFO log on stderr", {
      also: ["provider_timeout"],
      toolCalls: 1,
    }),
  },
  {
    name: "ninth-silence-no-log",
    logs: "none",
    script: () => ({ type: "silence" }),
    stop: { asked: 1, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("idle_timeout", "headers, then nothing, no log", { also: ["provider_timeout"] }),
  },
];
