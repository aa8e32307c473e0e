import { say } from "../../../src/scripted-model/reply.ts";
import { bash, failed, refusal, type Scene } from "../scene.ts";
import { acts, after, IN_TOOL, named, options, says, TWO_FAILURES } from "./unseen-tenth-parts.ts";

const busy = acts([[bash("touch busy; sleep 45")]]);
const SECOND = { asked: 2, signal: "SIGKILL", endedBy: "idle_timeout" } as const;
const hangs = () => ({ type: "hang" }) as const;
const cancelled = (why: string, more: { toolCalls?: number; finalText?: string } = {}): Scene["label"] => ({
  status: "cancelled",
  why,
  ...more,
});

/** Runs that somebody ended. */
export const TENTH_STOPS: readonly Scene[] = named([
  {
    name: "interrupt-in-stream",
    script: () => say("I was about to", "stall"),
    stop: { shows: /"step_start"/g, signal: "SIGINT", endedBy: "cancel" },
    label: cancelled("SIGINT in an answer"),
  },
  {
    name: "terminate-in-stream",
    api: "messages",
    script: after([bash("echo before")], () => say("I was about to", "stall")),
    stop: { shows: /"step_start"/g, times: 2, signal: "SIGTERM", endedBy: "cancel" },
    label: cancelled("SIGTERM in the second answer, through another API", { toolCalls: 1 }),
  },
  {
    name: "interrupt-in-command",
    script: busy,
    stop: { ...IN_TOOL, signal: "SIGINT", endedBy: "cancel" },
    label: cancelled("SIGINT in a command"),
  },
  {
    name: "terminate-in-command",
    script: busy,
    stop: { ...IN_TOOL, signal: "SIGTERM", endedBy: "cancel" },
    label: cancelled("SIGTERM in a command"),
  },
  {
    name: "terminate-in-second-command",
    script: acts([[bash("echo first")], [bash("touch busy; sleep 45")]]),
    stop: { ...IN_TOOL, signal: "SIGTERM", endedBy: "cancel" },
    label: cancelled("SIGTERM in a second command", { toolCalls: 1 }),
  },
  {
    name: "kill-in-command",
    script: acts([[bash("setsid sleep 20 & touch busy; wait")]]),
    stop: { ...IN_TOOL, signal: "SIGKILL", endedBy: "cancel" },
    label: cancelled("SIGKILL in a command that has children"),
  },
  {
    name: "interrupt-at-start",
    stop: { afterMs: 400, signal: "SIGINT", endedBy: "cancel" },
    label: cancelled("SIGINT while it starts"),
  },
  {
    name: "killed-by-others",
    script: busy,
    stop: { ...IN_TOOL, signal: "SIGKILL", endedBy: null },
    label: failed("crashed", "SIGKILL by somebody else, in a command"),
  },
  {
    name: "terminated-by-others",
    script: () => say("I was about to", "stall"),
    stop: { shows: /"step_start"/g, signal: "SIGTERM", endedBy: null },
    label: failed("crashed", "SIGTERM by somebody else, in an answer"),
  },
  {
    name: "cut-in-silence",
    logs: "none",
    script: () => say("And then", "cut"),
    stop: { ...SECOND, asked: 3 },
    label: failed("idle_timeout", "every answer is cut off, and nothing is logged", {
      also: ["network_error", "provider_error"],
    }),
  },
  {
    name: "busy-in-silence",
    logs: "none",
    script: refusal(429, { message: "Too Many Requests", type: "rate_limit", code: 429 }),
    stop: SECOND,
    label: failed("idle_timeout", "429 again and again, and nothing is logged"),
  },
  {
    name: "no-answer",
    api: "messages",
    script: hangs,
    stop: { ...SECOND, asked: 1 },
    label: failed("idle_timeout", "the provider never answers", { also: ["provider_timeout"] }),
  },
  {
    name: "no-second-answer",
    script: after([bash("echo one")], hangs),
    stop: SECOND,
    label: failed("idle_timeout", "the provider never answers a second time", {
      toolCalls: 1,
      also: ["provider_timeout"],
    }),
  },
  {
    name: "stdin-left-open",
    isStdinOpen: true,
    script: says,
    stop: { afterMs: 12_000, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("idle_timeout", "stdin is left open, and the CLI waits for it"),
  },
  {
    name: "rate-anthropic-until-killed",
    api: "messages",
    logs: "ERROR",
    script: refusal(
      429,
      '{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit for your organization of 30,000 input tokens per minute."}}',
    ),
    stop: TWO_FAILURES,
    label: failed("rate_limited", "429 of Anthropic, again and again", { also: ["idle_timeout"] }),
  },
  {
    name: "error-500-until-killed",
    logs: "WARN",
    script: refusal(500, {
      message: "EngineCore encountered an issue. See stack trace (above) for the root cause.",
      type: "InternalServerError",
      param: null,
      code: 500,
    }),
    stop: TWO_FAILURES,
    label: failed("provider_error", "500 of vLLM, again and again", { also: ["idle_timeout"] }),
  },
  {
    name: "no-reason-until-turn-ends",
    script: () => say("That was it.", "none"),
    stop: { shows: /"step_finish"/g, times: 9, signal: "SIGKILL", endedBy: "turn_timeout" },
    label: failed("provider_error", "answers without a reason of their end, again and again", {
      finalText: "That was it.",
      also: ["turn_timeout", "idle_timeout", "output_incomplete", "network_error"],
    }),
  },
  {
    name: "page-until-killed",
    script: () => ({ type: "page", html: "<!DOCTYPE html><html><head><title>Open WebUI</title></head></html>" }),
    stop: { shows: /"step_finish"/g, times: 8, signal: "SIGKILL", endedBy: "idle_timeout" },
    label: failed("provider_error", "a page of another program in place of an answer, again and again", {
      also: ["idle_timeout", "output_incomplete", "executor_unavailable"],
    }),
  },
  {
    name: "error-in-stream-sglang",
    provider: "chat-tenth-sglang",
    stop: TWO_FAILURES,
    label: failed("provider_error", "an error of SGLang in a stream", { also: ["idle_timeout"] }),
  },
  {
    name: "error-in-stream-together",
    provider: "chat-tenth-together",
    stop: TWO_FAILURES,
    label: failed("provider_error", "an error in place of an answer, with 200", { also: ["idle_timeout"] }),
  },
  {
    name: "headers-late",
    api: "messages",
    config: options({ timeout: 1500 }),
    script: hangs,
    label: failed("provider_timeout", "no headers within options.timeout, through another API"),
  },
  {
    name: "silence-in-answer",
    config: options({ chunkTimeout: 1200 }),
    script: after([bash("echo first")], () => say("Now for", "stall")),
    label: failed("provider_timeout", "silence in the second answer, until the CLI gives up", { toolCalls: 1 }),
  },
]);
