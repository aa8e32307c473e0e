import { wholeFile } from "../cli-b.ts";
import { breaks, DONE, ends, HANG, http, refuse, RESET, say, SSE, thought } from "../reply.ts";
import { fails, only, works, type Scene } from "../scene.ts";
import { killed, ONCE, onceAsked, QUOTA, SEVEN_STEPS, TOO_LONG, TOOL, TWO_FAILURES, withOptions } from "./parts.ts";
import { CHAT_ANSWER, chatError, KEY_EXPIRED, MALFORMED, messagesError, messagesStop } from "./streams.ts";

const FLAGGED = "Invalid prompt: your prompt was flagged as potentially violating our usage policy.";

/** Answers that fail in their stream, break off, stop at a limit, or never come. */
export const BROKEN_ANSWERS: readonly Scene[] = [
  fails(
    "request-refused-in-stream",
    "invalid_request",
    "a request that is wrong, inside a stream",
    breaks("invalid_request_error", "Unknown parameter: 'include[2]'."),
    {
      cliA: {
        api: "messages",
        replies: [messagesError("invalid_request_error", "messages.1: `tool_use` ids must be unique")],
      },
    },
  ),
  fails("content-filtered", "content_blocked", "the answer is filtered", say("Half an", "content-filter"), {
    text: "Half an",
    cliB: { name: "content-filter" },
  }),
  fails("output-limit", "output_limit", "the answer is cut at the limit", say("Half an", "length"), {
    text: "Half an",
  }),
  fails(
    "thought-to-the-limit",
    "output_limit",
    "all tokens went into a thought",
    ends("length", thought("Let me think.")),
  ),
  fails(
    "overloaded-in-stream",
    "provider_error",
    "overloaded inside a stream",
    breaks("server_is_overloaded", "Our servers are currently overloaded. Please try again later."),
    {
      cliA: {
        ...killed("overloaded-in-stream"),
        api: "messages",
        replies: [messagesError("overloaded_error", "Overloaded")],
      },
      cliB: { name: "model-at-capacity" },
    },
  ),
  fails(
    "rate-limited-in-stream",
    "rate_limited",
    "the code inside a stream",
    breaks("rate_limit_exceeded", "Rate limit reached for m1. Please try again in 1s."),
    { cliA: killed("rate-limited-in-stream") },
  ),
  fails("quota-in-stream", "quota_exceeded", "the code inside a stream", breaks("insufficient_quota", QUOTA), {
    cliA: { ...killed(""), name: "quota-exceeded-in-stream" },
  }),
  fails(
    "error-in-stream",
    "provider_error",
    "an error inside a stream",
    breaks("vector_store_error", "Something broke in here."),
    {
      cliA: { ...killed(""), name: "error-in-stream", replies: [chatError("model runner has unexpectedly stopped")] },
      cliB: { name: "stream-failed" },
    },
  ),
  fails("stream-cut", "network_error", "every stream is cut, until the CLI gives up by itself", say("Half.", "cut"), {
    also: ["provider_error"],
    cliB: { text: "Half.", also: [] },
  }),
  fails("cut-then-refused", "auth_failed", "a cut, then 401", [
    ends("cut", thought("Hm.")),
    refuse(401, "Session of the key ended."),
  ]),
  ...only(
    "cli-a",
    fails(
      "key-expired-in-stream",
      "auth_failed",
      "the key has expired, says the first event of a stream",
      KEY_EXPIRED,
      {
        api: "messages",
      },
    ),
    fails(
      "request-too-large-in-stream",
      "context_overflow",
      "the code of a request that is too large, inside a stream",
      messagesError("request_too_large", "Request exceeds the maximum size"),
      { api: "messages" },
    ),
    fails("anthropic-refusal", "content_blocked", "stop reason refusal", messagesStop("refusal"), {
      api: "messages",
      text: "Hel",
    }),
    fails("stream-cut-until-killed", "network_error", "three streams are cut", say("This breaks off", "cut"), {
      stop: { ...TWO_FAILURES, when: { shows: /"step_start"/, times: 3 } },
      also: ["idle_timeout", "provider_error"],
    }),
    fails("stream-cut-before-text-until-killed", "network_error", "every connection is reset", RESET, {
      stop: TWO_FAILURES,
      also: ["idle_timeout", "provider_error"],
    }),
    fails("stream-cut-anthropic", "network_error", "every stream is cut, by another API", say("A part of it", "cut"), {
      api: "messages",
      also: ["provider_error"],
    }),
    fails(
      "provider-timeout",
      "provider_timeout",
      "no headers within options.timeout",
      HANG,
      withOptions({ timeout: 2000 }),
    ),
    fails(
      "provider-timeout-after-tool",
      "provider_timeout",
      "no answer to the second request within options.timeout",
      [TOOL, HANG],
      withOptions({ timeout: 3000 }),
    ),
    fails(
      "provider-stalls",
      "provider_timeout",
      "a pause longer than chunkTimeout, until the CLI gives up by itself",
      say("This stops", "stall"),
      withOptions({ chunkTimeout: 1000 }),
    ),
    fails("provider-stalls-anthropic", "provider_timeout", "the same by another API", say("This stops", "stall"), {
      api: "messages",
      ...withOptions({ chunkTimeout: 1500 }),
    }),
    fails(
      "answer-is-no-stream",
      "provider_error",
      "a page in place of a stream, asked for without end",
      http(200, "<html><body>Sign in to the network</body></html>"),
      {
        stop: SEVEN_STEPS,
        also: ["idle_timeout", "output_incomplete"],
      },
    ),
    fails(
      "no-finish-reason",
      "provider_error",
      "answers that end without a reason, asked for without end",
      say("An answer without an end.", "none"),
      {
        stop: SEVEN_STEPS,
        also: ["idle_timeout", "output_incomplete"],
        text: "An answer without an end.",
      },
    ),
    fails(
      "no-finish-reason-in-time",
      "provider_error",
      "the same, until the turn's time is over",
      say("Half of it", "none"),
      {
        stop: { ...SEVEN_STEPS, by: "turn_timeout" },
        also: ["turn_timeout", "idle_timeout", "output_incomplete", "network_error"],
        text: "Half of it",
      },
    ),
    fails("malformed-stream", "provider_error", "a frame that is no JSON", MALFORMED),
    fails("other-dialect", "provider_error", "an answer in the words of another API", CHAT_ANSWER, {
      api: "messages",
      also: ["executor_unavailable"],
    }),
    fails("other-dialect-openai", "provider_error", "the same for a third API", CHAT_ANSWER, {
      api: "responses",
      also: ["executor_unavailable"],
    }),
    fails(
      "stream-cut-no-log",
      "idle_timeout",
      "streams are cut again and again, no log says so",
      say("A part of", "cut"),
      {
        logs: "none",
        stop: onceAsked(3, "idle_timeout", "SIGKILL"),
        also: ["network_error", "provider_error"],
      },
    ),
  ),
  ...only(
    "cli-b",
    fails(
      "context-overflow-in-stream",
      "context_overflow",
      "the code inside a stream",
      breaks("context_length_exceeded", TOO_LONG),
    ),
    fails(
      "prompt-flagged",
      "content_blocked",
      "the prompt is flagged inside a stream",
      breaks("invalid_prompt", FLAGGED),
    ),
    fails(
      "cyber-policy",
      "content_blocked",
      "a policy of the provider",
      breaks("cyber_policy", "This request was flagged for possible cybersecurity risk."),
    ),
    fails(
      "stream-error-event",
      "provider_error",
      "an error event inside a stream: printed like any stream that is none",
      ends({ event: { code: "server_error", message: "Something broke" } }),
      { also: ["network_error"] },
    ),
    fails("answer-incomplete", "provider_error", "incomplete for a reason of its own", ends({ stopped: "paused" })),
    fails(
      "stream-closed-early",
      "network_error",
      "the stream ends after a message without its last event",
      say("Half.", "none"),
      { text: "Half." },
    ),
    fails("not-a-responses-stream", "provider_error", "200 with a page", http(200, "<html>Sign in</html>")),
    fails("chat-completions-stream", "provider_error", "200 with a stream of another API", CHAT_ANSWER),
    fails(
      "garbled-stream",
      "provider_error",
      "a frame that is no JSON",
      http(200, "event: response.created\ndata: {not json\n\n", SSE),
      { also: ["executor_unavailable", "network_error"] },
    ),
    fails("stream-idle-timeout", "provider_timeout", "headers, then silence", ends("stall"), { toml: wholeFile() }),
    fails("stall-after-tool", "provider_timeout", "silence in the second answer", [TOOL, ends("stall")], {
      toml: wholeFile(),
    }),
    fails("stall-after-text", "provider_timeout", "a message, then silence, retries off", say("One moment.", "stall"), {
      toml: ONCE,
      text: "One moment.",
    }),
    works("silence-then-answer", "silence within an answer, then the answer", [ends("stall"), DONE], {
      toml: wholeFile(),
    }),
    works("cut-twice-then-answered", "a stream is closed, then one is reset", [ends("none"), ends("cut"), DONE]),
  ),
];
