import type { FailureCode } from "../../../src/turnd/protocol/index.ts";
import { wholeFile, type CliBCase } from "./case.ts";
import {
  answer,
  broken,
  call,
  errorEvent,
  failed,
  HANG,
  page,
  refusal,
  RESET,
  shell,
  text,
  thought,
  type Reply,
} from "./replies.ts";

const DONE = answer(text("Done."));
const JSON_TYPE = { "content-type": "application/json" };
const PLAIN_TYPE = { "content-type": "text/plain" };

/** `also`: what the CLI leaves of the answer may allow no more than this. */
function fails(name: string, code: FailureCode, reply: Reply, also: readonly FailureCode[] = []): CliBCase {
  // What comes before a failure in these streams.
  const said = JSON.stringify(reply).includes("Part one.") ? { text: "Part one." } : {};
  return { name, label: { status: "failed", code, also, ...said, why: name.replaceAll("-", " ") }, replies: [reply] };
}

const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply =>
  page(status, JSON.stringify(body), { ...JSON_TYPE, ...headers });

/**
 * The same causes in the words of other makers, and other orders of things: written to be classified unseen, to measure the
 * rules rather than to make them.
 */
export const OTHER_CASES: readonly CliBCase[] = [
  fails(
    "other-key-expired",
    "auth_failed",
    json(401, { detail: "Your API token has expired. Create a new one in the console." }),
  ),
  fails("other-key-missing-header", "auth_failed", page(401, "Authorization header is missing", PLAIN_TYPE)),
  fails(
    "other-key-wrong-project",
    "auth_failed",
    refusal(403, { message: "This key may not access project proj_1.", type: "access_denied" }),
  ),
  fails(
    "other-key-in-400",
    "auth_failed",
    json(400, {
      error: {
        code: 400,
        message: "API key expired. Please renew the API key.",
        status: "INVALID_ARGUMENT",
        details: [{ reason: "API_KEY_INVALID" }],
      },
    }),
  ),
  fails(
    "other-gateway-forbidden-page",
    "auth_failed",
    page(403, "<html><head><title>403 Forbidden</title></head><body><center>nginx</center></body></html>"),
  ),
  fails(
    "other-model-retired",
    "model_not_found",
    refusal(404, {
      message: "The model `m1` has been deprecated, learn more here: https://docs.example.invalid",
      code: "model_not_found",
    }),
  ),
  fails(
    "other-model-unserved",
    "model_not_found",
    json(404, {
      object: "error",
      message: "The model `m1` does not exist.",
      type: "NotFoundError",
      param: null,
      code: 404,
    }),
  ),
  fails(
    "other-model-not-loaded",
    "model_not_found",
    json(404, { error: 'model "m1" not found, try pulling it first' }),
  ),
  fails(
    "other-model-no-access-403",
    "model_not_found",
    refusal(403, { message: "Project `proj_1` does not have access to model `m1`", code: "model_not_found" }),
    ["auth_failed"],
  ),
  fails(
    "other-model-400-detail",
    "model_not_found",
    json(400, { detail: "Invalid model: m1. Call GET /v1/models for the list." }),
  ),
  fails(
    "other-context-vllm",
    "context_overflow",
    json(400, {
      object: "error",
      message:
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages, Please reduce the length of the messages.",
      type: "BadRequestError",
      code: 400,
    }),
  ),
  fails(
    "other-context-prompt-tokens",
    "context_overflow",
    refusal(400, {
      message:
        "Prompt contains 262145 tokens and 0 draft tokens, too large for model with 262144 maximum context length",
    }),
  ),
  fails(
    "other-context-413",
    "context_overflow",
    refusal(413, {
      message: "Request too large: the input of 300000 tokens exceeds the context window of 128000.",
      code: "context_length_exceeded",
    }),
    ["invalid_request"],
  ),
  fails(
    "other-context-in-stream",
    "context_overflow",
    broken(failed("context_length_exceeded", "Conversation exceeds what this model can hold.")),
  ),
  fails(
    "other-quota-credits",
    "quota_exceeded",
    json(402, { error: { message: "This request requires more credits, or fewer max_tokens.", code: 402 } }),
  ),
  fails(
    "other-quota-429-type",
    "quota_exceeded",
    json(429, {
      error: {
        message: "Your organization has no funds left.",
        type: "insufficient_quota",
        code: "insufficient_quota",
      },
    }),
  ),
  fails(
    "other-quota-403-balance",
    "quota_exceeded",
    json(403, { code: 30001, message: "Sorry, your account balance is insufficient", data: null }),
    ["auth_failed"],
  ),
  fails(
    "other-rate-tokens",
    "rate_limited",
    refusal(429, {
      message: "Limit 6000 TPM, used 5900. Please slow down.",
      type: "tokens",
      code: "rate_limit_exceeded",
    }),
  ),
  fails("other-rate-page", "rate_limited", page(429, "<html><h1>Too many requests</h1></html>")),
  fails(
    "other-rate-long-retry-after",
    "rate_limited",
    refusal(429, { message: "Slow down.", code: "rate_limit_exceeded" }, { "retry-after": "3" }),
  ),
  fails(
    "other-rate-in-stream-no-time",
    "rate_limited",
    broken(failed("rate_limit_exceeded", "You are sending tokens too quickly.")),
  ),
  fails(
    "other-rate-after-text",
    "rate_limited",
    broken(failed("rate_limit_exceeded", "Requests are coming in too fast."), text("Part one.")),
  ),
  fails(
    "other-content-safety",
    "content_blocked",
    refusal(400, {
      message: "The request was rejected because it violates our usage guidelines.",
      code: "content_policy_violation",
    }),
  ),
  fails(
    "other-content-qwen",
    "content_blocked",
    json(400, {
      error: {
        code: "data_inspection_failed",
        message: "Input data may contain inappropriate content.",
        type: "data_inspection_failed",
      },
    }),
  ),
  fails(
    "other-content-stream",
    "content_blocked",
    broken(failed("invalid_prompt", "We cannot help with this prompt: it was flagged.")),
  ),
  fails(
    "other-invalid-tool-schema",
    "invalid_request",
    refusal(400, {
      message: "Invalid schema for function 'exec_command': schema must have type 'object'.",
      code: "invalid_function_parameters",
    }),
  ),
  fails(
    "other-invalid-unprocessable",
    "invalid_request",
    json(422, { detail: [{ type: "missing", loc: ["body", "messages"], msg: "Field required" }] }),
  ),
  fails("other-invalid-extra-field", "invalid_request", json(400, { error: "unknown field `include`" })),
  fails(
    "other-overloaded-529",
    "provider_error",
    json(529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  ),
  fails(
    "other-overloaded-503-code",
    "provider_error",
    refusal(503, { message: "Too many people use m1 now.", code: "server_is_overloaded", type: "server_error" }),
  ),
  fails("other-slow-down", "provider_error", broken(failed("slow_down", "Please slow down.")), ["rate_limited"]),
  fails("other-server-524", "provider_error", page(524, "<title>524: A timeout occurred</title>"), [
    "provider_timeout",
  ]),
  fails(
    "other-bad-gateway-cloudflare",
    "provider_error",
    page(502, "<html><title>m | 502: Bad gateway</title><body>Cloudflare</body></html>"),
  ),
  fails(
    "other-stream-failed-later",
    "provider_error",
    broken(failed("server_error", "The model produced invalid content."), text("Part one.")),
  ),
  fails("other-stream-error-no-code", "provider_error", broken(failed("", "Internal error"))),
  fails("other-wrong-path-page", "executor_unavailable", page(404, "<html><title>404 Not Found</title></html>")),
  fails("other-wrong-path-501", "executor_unavailable", refusal(501, { message: "Not implemented: responses" })),
  fails("other-json-200", "provider_error", json(200, { id: "chatcmpl-1", choices: [] })),
  fails("other-empty-200", "provider_error", page(200, "", { "content-type": "text/event-stream" }), ["network_error"]),
  fails(
    "other-garbled-stream",
    "provider_error",
    page(200, "event: response.created\ndata: {not json\n\n", { "content-type": "text/event-stream" }),
    ["executor_unavailable", "network_error"],
  ),
  {
    ...fails("other-reset-after-tool", "network_error", RESET),
    label: { status: "failed", code: "network_error", tools: 1, why: "the second request is reset" },
    replies: [answer(shell("echo one")), RESET],
  },
  {
    ...fails("other-key-revoked-mid-turn", "auth_failed", RESET),
    label: { status: "failed", code: "auth_failed", tools: 1, why: "the key is refused at the second request" },
    replies: [answer(shell("echo one")), refusal(401, { message: "Token revoked." })],
  },
  {
    ...fails("other-quota-mid-turn", "quota_exceeded", RESET),
    label: {
      status: "failed",
      code: "quota_exceeded",
      tools: 1,
      text: "First.",
      why: "the quota ends at the second request",
    },
    replies: [
      answer(text("First."), shell("echo one")),
      refusal(429, { message: "You have run out of credit.", code: "insufficient_quota" }),
    ],
  },
  {
    ...fails("other-slow-stream-mid-turn", "provider_timeout", HANG),
    label: { status: "failed", code: "provider_timeout", tools: 1, why: "silence in the second answer" },
    variables: { toml: wholeFile() },
    replies: [answer(shell("echo one")), broken("hang")],
  },
  {
    name: "other-many-recoveries",
    label: { status: "completed", text: "Done.", tools: 1, why: "errors of three kinds, then answers" },
    replies: [RESET, answer(shell("echo one")), broken("reset"), refusal(503, { message: "busy" }), DONE],
  },
  {
    name: "other-thoughts-only",
    label: { status: "completed", why: "thoughts and no message" },
    replies: [answer(thought("Hm."))],
  },
  {
    name: "other-tool-not-offered",
    label: { status: "completed", text: "Done.", why: "a tool of another CLI is called" },
    replies: [answer(call("bash", { command: "ls" })), DONE],
  },
  {
    name: "other-message-like-an-error",
    label: {
      status: "completed",
      text: "Quota exceeded. Check your plan and billing details.",
      why: "an answer that reads like a failure",
    },
    replies: [answer(text("Quota exceeded. Check your plan and billing details."))],
  },
  {
    name: "other-cancel-in-retry",
    label: { status: "cancelled", why: "turnd interrupts it between two attempts" },
    replies: [RESET],
    stop: { when: /Reconnecting/, signals: ["SIGINT"], by: "cancel" },
  },
  {
    name: "other-terminated-at-once",
    label: { status: "failed", code: "crashed", why: "a SIGTERM from outside as it begins" },
    replies: [HANG],
    stop: { when: /thread.started/, signals: ["SIGTERM"], by: null },
  },
  {
    name: "other-aborted-from-outside",
    label: { status: "failed", code: "crashed", why: "SIGABRT from outside" },
    replies: [HANG],
    stop: { when: /turn.started/, signals: ["SIGABRT"], by: null },
  },
  {
    name: "other-cancel-after-answer",
    label: { status: "cancelled", text: "Part one.", tools: 1, why: "turnd kills it in the second step" },
    replies: [answer(text("Part one."), shell("sleep 30"))],
    stop: { when: /item.started/, signals: ["SIGKILL"], by: "cancel" },
  },
  {
    name: "other-resume-missing-upper-case",
    label: { status: "failed", code: "resume_degraded", why: "an unknown id in capitals" },
    resume: "01A1FD1A-5463-7E72-9ECA-765C0AAFFEED",
    replies: [DONE],
  },
  {
    name: "other-resume-home-emptied",
    label: { status: "failed", code: "resume_degraded", why: "all of the CLI's state but its configuration is gone" },
    earlier: [[DONE]],
    resume: "earlier",
    prepare: ({ shell: run, codexHome }) => run(`cd ${codexHome} && find . -mindepth 1 ! -name config.toml -delete`),
    replies: [DONE],
  },
  {
    name: "other-home-is-a-file",
    label: { status: "failed", code: "config_invalid", also: ["storage_error"], why: "CODEX_HOME is a file" },
    prepare: ({ shell: run, codexHome }) => run(`rm -rf ${codexHome}; touch ${codexHome}`),
    replies: [DONE],
  },
  {
    name: "other-config-unreadable",
    label: { status: "failed", code: "config_invalid", also: ["storage_error"], why: "config.toml belongs to another" },
    prepare: ({ shell: run, codexHome }) =>
      run(`chown 0:0 ${codexHome}/config.toml; chmod 600 ${codexHome}/config.toml`),
    replies: [DONE],
  },
  {
    name: "other-workspace-forbidden",
    label: {
      status: "completed",
      text: "Done.",
      why: "-C names a directory that is closed: the CLI does not look",
    },
    prepare: ({ shell: run, home }) => run(`mkdir -m 700 ${home}/closed; chown 0:0 ${home}/closed`),
    args: (args, { home }) => args.map((word, index) => (args[index - 1] === "-C" ? `${home}/closed` : word)),
    replies: [DONE],
  },
  {
    name: "other-bad-effort",
    label: { status: "completed", text: "Done.", why: "an effort that no model has is passed on" },
    args: (args) => [...args.slice(0, 1), "-c", 'model_reasoning_effort="vast"', ...args.slice(1)],
    replies: [DONE],
  },
  {
    name: "other-image-missing",
    label: { status: "completed", text: "Done.", why: "an image that is not there is replaced by words" },
    args: (args) => [...args.slice(0, -1), "--image=/nonexistent.png", "-"],
    replies: [DONE],
  },
  {
    name: "other-sessions-unwritable",
    label: { status: "completed", also: ["storage_error"], text: "Done.", why: "the history cannot be written" },
    prepare: ({ shell: run, codexHome }) =>
      run(`rm -rf ${codexHome}/sessions; mkdir -m 555 ${codexHome}/sessions; chown 0:0 ${codexHome}/sessions`),
    replies: [DONE],
  },
  fails("other-error-event-rate", "rate_limited", broken(errorEvent("rate_limit_exceeded", "Rate limit reached")), [
    "executor_unavailable",
    "network_error",
    "provider_error",
  ]),
];
