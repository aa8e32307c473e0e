import type { FailureCode } from "../../../src/turnd/protocol/index.ts";
import { wholeFile, type CliBCase } from "./case.ts";
import { answer, broken, errorEvent, failed, incomplete, page, refusal, RESET, text, type Reply } from "./replies.ts";

/** A provider that does one thing whatever it is asked. */
function fails(name: string, code: FailureCode, why: string, reply: Reply, more: Partial<CliBCase> = {}): CliBCase {
  return { replies: [reply], ...more, name, label: { status: "failed", code, why, ...more.label } };
}

const DONE = answer(text("Done."));
const CLOUDFLARE =
  "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Cloudflare. Sorry, you have been blocked</body></html>";

/** How providers refuse and break off. */
export const FAILURE_CASES: readonly CliBCase[] = [
  fails(
    "bad-key",
    "auth_failed",
    "401",
    refusal(401, { message: "Incorrect API key provided: bad.", code: "invalid_api_key" }),
  ),
  fails(
    "bad-key-400",
    "auth_failed",
    "400 with the code of a bad key",
    refusal(400, { message: "API key not valid. Please pass a valid API key.", code: "API_KEY_INVALID" }),
  ),
  fails(
    "forbidden",
    "auth_failed",
    "403",
    refusal(403, {
      message: "Country, region, or territory not supported",
      code: "unsupported_country_region_territory",
    }),
  ),
  fails("blocked-by-cloudflare", "auth_failed", "403 with Cloudflare's page", page(403, CLOUDFLARE), {}),
  fails(
    "payment-required",
    "quota_exceeded",
    "402",
    refusal(402, { message: "Insufficient Balance", code: "invalid_request_error" }),
  ),
  fails(
    "no-responses-api",
    "executor_unavailable",
    "404 of a server without that path",
    page(404, '{"detail":"Not Found"}'),
  ),
  fails(
    "method-not-allowed",
    "executor_unavailable",
    "405",
    page(405, "Method Not Allowed", { "content-type": "text/plain" }),
  ),
  fails(
    "model-not-found",
    "model_not_found",
    "404 with the code",
    refusal(404, {
      message: "The model `m1` does not exist or you do not have access to it.",
      code: "model_not_found",
    }),
  ),
  fails(
    "model-not-found-400",
    "model_not_found",
    "400 with the code",
    refusal(400, { message: "The requested model 'm1' does not exist.", code: "model_not_found" }),
  ),
  fails(
    "context-overflow",
    "context_overflow",
    "400 with the code",
    refusal(400, { message: "Your input exceeds the context window of this model.", code: "context_length_exceeded" }),
  ),
  fails(
    "context-overflow-in-stream",
    "context_overflow",
    "the code inside a stream",
    broken(failed("context_length_exceeded", "Your input exceeds the context window of this model.")),
  ),
  fails(
    "bad-parameter",
    "invalid_request",
    "400 for a parameter",
    refusal(400, {
      message: "Unsupported parameter: 'reasoning' is not supported with this model.",
      code: "unsupported_parameter",
    }),
  ),
  fails(
    "image-invalid",
    "invalid_request",
    "400 for an image, in the CLI's own words",
    refusal(400, {
      message: "The image data you provided does not represent a valid image. Please check your input and try again.",
      code: "invalid_image_format",
    }),
  ),
  fails(
    "bad-request-plain",
    "invalid_request",
    "400 without JSON",
    page(400, "Bad Request", { "content-type": "text/plain" }),
  ),
  fails(
    "prompt-filtered",
    "content_blocked",
    "400 of a content filter",
    refusal(400, {
      message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      code: "content_filter",
    }),
  ),
  fails(
    "prompt-flagged",
    "content_blocked",
    "the prompt is flagged inside a stream",
    broken(
      failed("invalid_prompt", "Invalid prompt: your prompt was flagged as potentially violating our usage policy."),
    ),
  ),
  fails(
    "cyber-policy",
    "content_blocked",
    "a policy of the provider",
    broken(failed("cyber_policy", "This request was flagged for possible cybersecurity risk.")),
  ),
  fails(
    "request-too-large",
    "invalid_request",
    "413",
    refusal(413, { message: "Request exceeds the maximum size.", code: "request_too_large" }),
  ),
  fails("request-timeout", "provider_timeout", "408", refusal(408, { message: "Timed out.", code: "request_timeout" })),
  fails(
    "rate-limited",
    "rate_limited",
    "429",
    refusal(429, { message: "Rate limit reached for m1. Please try again in 20s.", code: "rate_limit_exceeded" }),
  ),
  fails(
    "quota-exceeded",
    "quota_exceeded",
    "429 for a quota",
    refusal(429, {
      message: "You exceeded your current quota, please check your plan and billing details.",
      code: "insufficient_quota",
      type: "insufficient_quota",
    }),
  ),
  fails(
    "usage-limit",
    "quota_exceeded",
    "429 of a plan",
    page(
      429,
      '{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_in_seconds":3600}}',
    ),
  ),
  fails(
    "rate-limited-in-stream",
    "rate_limited",
    "the code inside a stream",
    broken(failed("rate_limit_exceeded", "Rate limit reached for m1. Please try again in 1s.")),
  ),
  fails(
    "quota-in-stream",
    "quota_exceeded",
    "the code inside a stream",
    broken(
      failed("insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
    ),
  ),
  {
    name: "rate-limited-recovered",
    label: { status: "completed", text: "Done.", why: "429 with Retry-After: 1, then an answer" },
    replies: [
      refusal(429, { message: "Rate limit reached for m1.", code: "rate_limit_exceeded" }, { "retry-after": "1" }),
      DONE,
    ],
  },
  fails(
    "server-error",
    "provider_error",
    "500",
    refusal(500, { message: "The server had an error.", type: "server_error" }),
  ),
  fails(
    "bad-gateway",
    "provider_error",
    "502 with a page",
    page(502, "<html><body><h1>502 Bad Gateway</h1></body></html>"),
  ),
  fails(
    "server-unavailable",
    "provider_error",
    "503",
    refusal(503, { message: "The service is temporarily unavailable.", type: "server_error" }),
  ),
  fails(
    "model-at-capacity",
    "provider_error",
    "overloaded inside a stream",
    broken(failed("server_is_overloaded", "Our servers are currently overloaded. Please try again later.")),
  ),
  {
    name: "server-error-recovered",
    label: { status: "completed", text: "Done.", why: "500, then an answer" },
    replies: [refusal(500, { message: "The server had an error.", type: "server_error" }), DONE],
  },
  fails(
    "stream-failed",
    "provider_error",
    "another code inside a stream",
    broken(failed("vector_store_error", "Something broke in here.")),
  ),
  fails(
    "stream-error-event",
    "provider_error",
    "an error event inside a stream: printed like any stream that is none",
    broken(errorEvent("server_error", "Something broke")),
    {
      label: {
        also: ["network_error"],
        status: "failed",
        why: "an error event inside a stream: printed like any stream that is none",
      },
    },
  ),
  fails("output-limit", "output_limit", "the answer is cut at the limit", broken(incomplete("max_output_tokens"))),
  fails("content-filter", "content_blocked", "the answer is filtered", broken(incomplete("content_filter"))),
  fails("stream-cut", "network_error", "the connection is reset in an answer", broken("reset", text("Half.")), {
    label: { text: "Half.", status: "failed", why: "the connection is reset in an answer" },
  }),
  fails(
    "stream-closed-early",
    "network_error",
    "the stream ends after a message without its last event",
    broken("close", text("Half.")),
    { label: { text: "Half.", status: "failed", why: "the stream ends after a message without its last event" } },
  ),
  {
    name: "stream-cut-recovered",
    label: { status: "completed", text: "Done.", why: "the first stream is reset, the second is whole" },
    replies: [broken("reset"), DONE],
  },
  fails("connection-closed", "network_error", "closed before an answer", RESET),
  fails("not-a-responses-stream", "provider_error", "200 with a page", page(200, "<html>Sign in</html>")),
  fails(
    "chat-completions-stream",
    "provider_error",
    "200 with a stream of another API",
    page(
      200,
      'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n',
      { "content-type": "text/event-stream" },
    ),
  ),
  fails("stream-idle-timeout", "provider_timeout", "headers, then silence", broken("hang"), {
    variables: { toml: wholeFile() },
  }),
  fails("connection-refused", "network_error", "nothing listens", DONE, {
    variables: { CLI_B_BASE_URL: "http://127.0.0.1:9/v1" },
  }),
  fails("no-such-host", "network_error", "the name is unknown", DONE, {
    variables: { CLI_B_BASE_URL: "http://no-such-host.invalid/v1" },
  }),
  fails("tls-error", "network_error", "no TLS there", DONE, {
    variables: { toml: wholeFile("", "").replace("{url}", "https://127.0.0.1:9/v1") },
  }),
  fails("redirected", "network_error", "302 to a login", page(302, "", { location: "https://login.invalid/" })),
  fails("base-url-invalid", "config_invalid", "base_url is no URL", DONE, {
    variables: { toml: wholeFile().replace("{url}", "not-a-url") },
  }),
  fails(
    "gateway-timeout",
    "provider_error",
    "504 of a gateway",
    page(504, "upstream request timeout", { "content-type": "text/plain" }),
    { label: { also: ["provider_timeout"], status: "failed", why: "504 of a gateway" } },
  ),
];

/** What keeps the CLI from starting, or from keeping what it did. */
export const START_CASES: readonly CliBCase[] = [
  fails("key-variable-missing", "credential_missing", "the key's variable is not set", DONE, {
    env: { CLI_B_API_KEY: "" },
  }),
  fails("config-not-toml", "config_invalid", "config.toml is none", DONE, {
    prepare: ({ shell, codexHome }) => shell(`echo '[model' >${codexHome}/config.toml`),
  }),
  fails("config-wrong-type", "config_invalid", "a key has another type", DONE, {
    prepare: ({ shell, codexHome }) => shell(`echo 'model = 7' >${codexHome}/config.toml`),
  }),
  fails("config-unknown-key", "config_invalid", "a key that this version does not know, under --strict-config", DONE, {
    args: (args) =>
      ["-c", "features.no_such_feature=false"].reduceRight(
        (rest, word) => [rest[0] ?? "", word, ...rest.slice(1)],
        [...args],
      ),
  }),
  fails("unknown-provider", "config_invalid", "the provider is not defined", DONE, {
    args: (args) => [...args.slice(0, 1), "-c", 'model_provider="nope"', ...args.slice(1)],
  }),
  fails("wire-api-chat", "executor_unavailable", "another wire protocol", DONE, {
    prepare: ({ shell, codexHome }) => shell(`sed -i 's/wire_api.*/wire_api = "chat"/' ${codexHome}/config.toml`),
  }),
  fails("unknown-flag", "invalid_request", "an option that is none", DONE, {
    args: (args) => [...args.slice(0, 1), "--no-such-option", ...args.slice(1)],
  }),
  fails("no-prompt", "invalid_request", "stdin is empty", DONE, { prompt: "" }),
  fails("prompt-not-utf-8", "invalid_request", "stdin is not UTF-8", DONE, {
    prompt: Buffer.from([0x68, 0x69, 0xff, 0xfe, 0x0a]),
  }),
  fails("prompt-too-large", "invalid_request", "more characters than it takes", DONE, {
    prompt: "word ".repeat(220_000),
  }),
  fails("workspace-missing", "invalid_request", "-C names no directory", DONE, {
    args: (args) => args.map((word, index) => (args[index - 1] === "-C" ? "/nonexistent" : word)),
  }),
  fails("not-a-git-repository", "invalid_request", "without --skip-git-repo-check", DONE, {
    args: (args) => args.filter((word) => word !== "--skip-git-repo-check"),
  }),
  fails("home-missing", "config_invalid", "CODEX_HOME does not exist", DONE, {
    prepare: ({ shell, codexHome }) => shell(`rm -rf ${codexHome}`),
  }),
  fails("home-unwritable", "storage_error", "CODEX_HOME cannot be written", DONE, {
    prepare: ({ shell, codexHome }) =>
      shell(
        `chmod -R a+rX,a-w ${codexHome}; chown -R 0:0 ${codexHome}; chmod 755 ${codexHome}; chmod 644 ${codexHome}/config.toml`,
      ),
  }),
  {
    name: "disk-full-at-start",
    label: {
      status: "completed",
      also: ["storage_error"],
      text: "Done.",
      why: "the home has no room from the start: the turn goes on, nothing is saved",
    },
    prepareHome: ({ shell, codexHome }) =>
      shell(`mount -t tmpfs -o size=64k,mode=755,uid=1000,gid=1000 tmpfs ${codexHome}`),
    replies: [DONE],
  },
  {
    name: "disk-full-in-turn",
    label: {
      status: "completed",
      also: ["storage_error"],
      text: "Done.",
      tools: 1,
      why: "the transcript has no room: the turn goes on",
    },
    prepareHome: ({ shell, codexHome }) =>
      shell(`mount -t tmpfs -o size=800k,mode=755,uid=1000,gid=1000 tmpfs ${codexHome}`),
    replies: [
      answer({
        type: "function_call",
        id: "fc_1",
        call_id: "call_1",
        name: "exec_command",
        arguments: '{"cmd":"seq 1 20"}',
      }),
      DONE,
    ],
  },
  {
    name: "state-corrupt",
    label: { status: "completed", text: "Done.", why: "state_5.sqlite is garbage: the turn goes on" },
    prepareHome: ({ shell, codexHome }) =>
      shell(`echo garbage >${codexHome}/state_5.sqlite && chown 1000 ${codexHome}/state_5.sqlite`),
    replies: [DONE],
  },
];
