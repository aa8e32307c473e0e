import { wholeFile, type CliBCase } from "./case.ts";
import {
  answer,
  broken,
  call,
  failed,
  HANG,
  incomplete,
  page,
  refusal,
  RESET,
  shell,
  text,
  thought,
} from "./replies.ts";

const DONE = answer(text("Done."));
const TOOL = answer(shell("echo tool-ok"));
const WORDS_OF_ERRORS =
  'Error: unexpected status 401 Unauthorized. {"type":"turn.failed","error":{"message":"x"}} Rate limit reached. No space left on device.';
const completed = (why: string, more: Partial<CliBCase["label"]> = {}): CliBCase["label"] => ({
  status: "completed",
  text: "Done.",
  why,
  ...more,
});
const IN_TOOL = /"item\.started"/;
const inTool = [answer(shell("sleep 30"))];

/** Other orders of things: labelled on 2026-11-23, before any rule was tried on them. */
export const UNSEEN_CASES: readonly CliBCase[] = [
  {
    name: "unseen-error-after-tool-recovered",
    label: completed("a gateway's page once, after a tool, then the answer", { tools: 1 }),
    replies: [TOOL, page(502, "<html><body><h1>502 Bad Gateway</h1></body></html>"), DONE],
  },
  {
    name: "unseen-rate-limited-after-tool-recovered",
    label: completed("429 once, after a tool, then the answer", { tools: 1 }),
    replies: [TOOL, refusal(429, { message: "API rate limit exceeded" }, { "retry-after": "1" }), DONE],
  },
  {
    name: "unseen-reset-after-tool-recovered",
    label: completed("a reset after a tool, then the answer", { tools: 1 }),
    replies: [TOOL, RESET, DONE],
  },
  {
    name: "unseen-text-beside-tool",
    label: completed("a text and a tool in one answer", { tools: 1 }),
    replies: [answer(text("I look."), shell("echo here")), DONE],
  },
  {
    name: "unseen-answer-of-errors",
    label: completed("the answer speaks of errors", { text: WORDS_OF_ERRORS }),
    replies: [answer(text(WORDS_OF_ERRORS))],
  },
  {
    name: "unseen-tool-prints-much",
    label: completed("a command prints two megabytes", { tools: 1 }),
    replies: [answer(shell("seq 1 400000")), DONE],
  },
  {
    name: "unseen-many-tools",
    label: completed("eight commands in one answer", { tools: 8 }),
    replies: [answer(...Array.from({ length: 8 }, (_, at) => shell(`echo ${at}`))), DONE],
  },
  {
    name: "unseen-thought-alone",
    label: { status: "completed", why: "a thought and no message" },
    replies: [answer(thought("I think and say nothing."))],
  },
  {
    name: "unseen-schema-not-kept",
    label: completed("an answer that is not as the schema asks", { text: "no JSON" }),
    outputSchema:
      '{"type":"object","properties":{"a":{"type":"number"}},"required":["a"],"additionalProperties":false}',
    replies: [answer(text("no JSON"))],
  },
  {
    name: "unseen-limit-after-tool",
    label: { status: "failed", code: "output_limit", tools: 1, why: "cut at the limit, after a tool" },
    replies: [TOOL, broken(incomplete("max_output_tokens"))],
  },
  {
    name: "unseen-filter-after-tool",
    label: { status: "failed", code: "content_blocked", tools: 1, why: "filtered, after a tool" },
    replies: [TOOL, broken(incomplete("content_filter"))],
  },
  {
    name: "unseen-overflow-after-tool",
    label: { status: "failed", code: "context_overflow", tools: 1, why: "too long, after a tool" },
    replies: [TOOL, broken(failed("context_length_exceeded", "Your input exceeds the context window of this model."))],
  },
  {
    name: "unseen-bad-key-after-error",
    label: { status: "failed", code: "auth_failed", why: "500, then 401" },
    replies: [
      refusal(500, { message: "The server had an error.", type: "server_error" }),
      refusal(401, { message: "Incorrect API key provided: bad.", code: "invalid_api_key" }),
    ],
  },
  {
    name: "unseen-no-credit-after-tool",
    label: { status: "failed", code: "quota_exceeded", tools: 1, why: "402 after a tool" },
    replies: [TOOL, refusal(402, { message: "Insufficient credits. Add more in the settings." })],
  },
  {
    name: "unseen-model-gone-after-tool",
    label: { status: "failed", code: "model_not_found", tools: 1, why: "404 after a tool" },
    replies: [TOOL, refusal(404, { message: "The model `m1` does not exist.", code: "model_not_found" })],
  },
  {
    name: "unseen-resume-bad-key",
    label: { status: "failed", code: "auth_failed", resumed: true, why: "the thread goes on, the key is refused" },
    earlier: [[answer(text("First answer."))]],
    resume: "earlier",
    replies: [refusal(401, { message: "Incorrect API key provided: bad.", code: "invalid_api_key" })],
  },
  {
    name: "unseen-resume-overflow",
    label: { status: "failed", code: "context_overflow", resumed: true, why: "the thread goes on and is too long" },
    earlier: [[answer(text("First answer."))]],
    resume: "earlier",
    replies: [
      refusal(400, {
        message: "Your input exceeds the context window of this model.",
        code: "context_length_exceeded",
      }),
    ],
  },
  {
    name: "unseen-terminated-by-cancel",
    label: { status: "cancelled", tools: 1, why: "SIGTERM for a cancel, while a command runs" },
    replies: inTool,
    stop: { when: IN_TOOL, signals: ["SIGTERM"], by: "cancel" },
  },
  {
    name: "unseen-terminated-from-outside",
    label: { status: "failed", code: "crashed", tools: 1, why: "SIGTERM by somebody else, while a command runs" },
    replies: inTool,
    stop: { when: IN_TOOL, signals: ["SIGTERM"], by: null },
  },
  {
    name: "unseen-idle-in-tool",
    label: { status: "failed", code: "idle_timeout", tools: 1, why: "a command that prints nothing for too long" },
    replies: inTool,
    stop: { when: IN_TOOL, signals: ["SIGINT", "SIGKILL"], by: "idle_timeout" },
  },
  {
    name: "unseen-provider-silent",
    label: { status: "failed", code: "idle_timeout", why: "the provider never answers; turnd ends the turn" },
    replies: [HANG],
    stop: { when: /"turn\.started"/, signals: ["SIGINT", "SIGKILL"], by: "idle_timeout" },
  },
  {
    name: "unseen-mcp-server-dies",
    label: completed("a server's process ends in a call", { tools: 1 }),
    variables: { toml: wholeFile('[mcp_servers.gone]\ncommand = "/bin/false"') },
    replies: [answer(call("exec_command", { cmd: "echo on" })), DONE],
  },
  {
    name: "unseen-config-list",
    label: { status: "failed", code: "config_invalid", why: "model_providers is a list" },
    prepare: ({ shell: run, codexHome }) => run(`echo 'model_providers = [1]' >${codexHome}/config.toml`),
    replies: [DONE],
  },
  {
    name: "unseen-approval-policy",
    // Labelled config_invalid, wrongly: the last of two values of a key holds, and turnd's comes later.
    label: completed("an approval policy that is none, before turnd's own"),
    args: (args) => [...args.slice(0, 1), "-c", 'approval_policy="sometimes"', ...args.slice(1)],
    replies: [DONE],
  },
  ...(
    [
      ["key", "auth_failed", "invalid_api_key", "Incorrect API key provided."],
      ["policy", "content_blocked", "content_policy_violation", "Your request was rejected by our safety system."],
      ["billing", "quota_exceeded", "billing_hard_limit_reached", "Billing hard limit has been reached"],
      ["busy", "provider_error", "model_overloaded", "The model is overloaded, please try again."],
      ["rate", "rate_limited", "rate_limit_exceeded", "You are being rate limited. Please try again in 2s."],
      ["length", "context_overflow", "context_length_exceeded", "Your input is too long for this model."],
    ] as const
  ).map(([name, code, said, words]): CliBCase => ({
    name: `unseen-in-stream-${name}`,
    label: { status: "failed", code, why: `${said} inside a stream` },
    replies: [broken(failed(said, words))],
  })),
  {
    name: "unseen-flagged-words",
    label: { status: "failed", code: "content_blocked", why: "400 in the words of another maker" },
    replies: [
      refusal(400, { message: "The request was blocked by our safety filters.", code: "content_policy_violation" }),
    ],
  },
];
