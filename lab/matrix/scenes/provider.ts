import { brotliCompressSync } from "node:zlib";
import { breaks, does, DONE, ends, http, JSON_TYPE, PLAIN, refuse, RESET, run, say } from "../reply.ts";
import { fails, only, works, type Scene } from "../scene.ts";
import { BAD_KEY, killed, ONCE, QUOTA, SERVER_ERROR, TOO_LONG, TOOL, withOptions } from "./parts.ts";
import { messagesError } from "./streams.ts";

const RATE = refuse(429, "Rate limit reached for requests. Please try again in 2s.", "rate_limit_exceeded");
const UNAVAILABLE = "<html><body><h1>503 Service Temporarily Unavailable</h1></body></html>";

/** Refusals whose status leaves the cause open, in sentences of no maker. */
const IN_PROSE = (
  [
    ["quota", 400, "quota_exceeded", "Wallet is empty."],
    ["content", 400, "content_blocked", "Potential self-harm content detected."],
    ["context", 400, "context_overflow", "Message history of 412 entries totals 260123 tokens; the ceiling is 200000."],
    ["model", 400, "model_not_found", "m1 is not one of the models that this endpoint serves."],
    ["key", 400, "auth_failed", "This API key was rotated; use the newest one."],
    ["quota-403", 403, "quota_exceeded", "Invoice 2231 has not been paid. Access is paused."],
    ["content-403", 403, "content_blocked", "Explicit material is not welcome here."],
    ["model-404", 404, "model_not_found", "There is no model called m1."],
  ] as const
).map(([name, status, code, message]) =>
  fails(`refused-in-prose-${name}`, code, `${status} in a sentence of no maker`, refuse(status, message)),
);

/** A 400 to CLI B that is no JSON. */
const IN_WORDS = (
  [
    ["length", "context_overflow", "The prompt is longer than this model can read: 210000 tokens."],
    ["text", "context_overflow", "The text you sent is too long for the model."],
    ["model", "model_not_found", "There is no model called m1."],
    ["field", "invalid_request", "Missing required field: input"],
    ["order", "invalid_request", "System messages must come first"],
    ["credit", "quota_exceeded", "Your prepaid credit is used up."],
    ["cap", "quota_exceeded", "Your organization has reached its monthly cap."],
    ["credential", "auth_failed", "The bearer credential could not be decoded."],
  ] as const
).map(([name, code, words]) =>
  fails(`refused-in-words-${name}`, code, "400 with plain words", http(400, words, PLAIN)),
);

/** What a provider refuses, or breaks off, at first, and then answers. */
const RECOVERED: readonly Scene[] = [
  works(
    "rate-limited-then-answered",
    "429 with Retry-After: 1, then an answer",
    [refuse(429, "Rate limit reached for m1.", "rate_limit_exceeded", { "retry-after": "1" }), DONE],
    { cliB: { name: "rate-limited-recovered" } },
  ),
  works(
    "overloaded-then-answered",
    "an error of the server, then an answer",
    [http(529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }), DONE],
    { cliA: { api: "messages" }, cliB: { name: "server-error-recovered", replies: [SERVER_ERROR, DONE] } },
  ),
  works("stream-cut-recovered", "a stream that is cut, then the answer", [ends("cut"), DONE], {
    cliA: { replies: [say("This breaks off", "cut"), DONE] },
  }),
  works("error-in-stream-recovered", "an error in the stream, then the answer", [
    breaks("server_error", "The server had an error"),
    DONE,
  ]),
  works("after-tool-rate-recovered", "429 once, after a tool", [
    TOOL,
    refuse(429, "API rate limit exceeded", null, { "retry-after": "1" }),
    DONE,
  ]),
  works("after-tool-page-recovered", "a gateway's page once, after a tool", [TOOL, http(502, UNAVAILABLE), DONE]),
  works("after-tool-reset-recovered", "a reset after a tool, then the answer", [TOOL, RESET, DONE]),
  works("many-recoveries", "a reset, a 502 with a page and a 503, an answer behind each", [
    RESET,
    does(run("echo a; sleep 0.3")),
    http(502, UNAVAILABLE),
    does(run("echo b; sleep 0.3")),
    refuse(503, "busy"),
    DONE,
  ]),
];

/** Turns that fail for what the provider refuses. */
export const PROVIDER: readonly Scene[] = [
  ...RECOVERED,
  ...IN_PROSE,
  fails(
    "proxy-wants-login",
    "auth_failed",
    "407 of a proxy",
    http(407, "<html><head><title>407 Proxy Authentication Required</title></head></html>"),
  ),
  fails("bad-key", "auth_failed", "401", BAD_KEY),
  fails(
    "forbidden",
    "auth_failed",
    "403",
    refuse(403, "Country, region, or territory not supported", "unsupported_country_region_territory"),
  ),
  fails("model-gone", "model_not_found", "410", refuse(410, "m is gone.")),
  fails("no-credit", "quota_exceeded", "402", refuse(402, "Insufficient Balance"), {
    cliB: { name: "payment-required" },
  }),
  fails("quota-exceeded", "quota_exceeded", "429 insufficient_quota", refuse(429, QUOTA, "insufficient_quota"), {
    cliA: killed("quota-exceeded", "rate_limited"),
  }),
  fails("rate-limited", "rate_limited", "429 until the CLI gives up by itself", RATE),
  fails(
    "model-unknown-at-provider",
    "model_not_found",
    "404 with the code",
    refuse(404, "The model `m` does not exist or you do not have access to it.", "model_not_found"),
    { cliB: { name: "model-not-found" } },
  ),
  fails(
    "bad-request",
    "invalid_request",
    "400 for a parameter",
    refuse(400, "Unsupported parameter: 'max_tokens'.", "unsupported_parameter"),
    { cliB: { name: "bad-parameter" } },
  ),
  fails(
    "context-overflow",
    "context_overflow",
    "every request is too long, a summary too",
    refuse(400, TOO_LONG, "context_length_exceeded"),
  ),
  fails(
    "prompt-filtered",
    "content_blocked",
    "400 of a content filter",
    refuse(400, "The response was filtered due to the prompt triggering content management policy.", "content_filter"),
  ),
  fails("provider-error", "provider_error", "500 until the CLI gives up by itself", SERVER_ERROR, {
    cliB: { name: "server-error" },
  }),
  fails("provider-error-page", "provider_error", "503 with a page", http(503, UNAVAILABLE), {
    cliA: killed("provider-error-page"),
    cliB: { name: "server-unavailable" },
  }),
  ...only(
    "cli-a",
    fails("bad-key-after-tool", "auth_failed", "401 for the second request", [
      TOOL,
      refuse(401, "Incorrect API key provided: sk-bad."),
    ]),
    fails(
      "anthropic-bad-key",
      "auth_failed",
      "401 inside a stream",
      messagesError("authentication_error", "invalid x-api-key"),
      { api: "messages" },
    ),
    fails("no-key", "credential_missing", "the configuration has no key", DONE, {
      api: "messages",
      ...withOptions({ apiKey: null }),
    }),
    fails("no-key-openai", "credential_missing", "nor for another package", DONE, {
      api: "responses",
      ...withOptions({ apiKey: null }),
      also: ["auth_failed"],
    }),
    fails(
      "no-credit-in-words",
      "quota_exceeded",
      "a 400 that says so",
      refuse(400, "Your credit balance is too low to access the API."),
    ),
  ),
  ...only(
    "cli-b",
    ...IN_WORDS,
    fails(
      "bad-key-400",
      "auth_failed",
      "400 with the code of a bad key",
      refuse(400, "API key not valid. Please pass a valid API key.", "API_KEY_INVALID"),
    ),
    fails("bad-key-asked-once", "auth_failed", "401, retries off", refuse(401, "Invalid API Key", "invalid_api_key"), {
      toml: ONCE,
    }),
    fails(
      "blocked-by-cloudflare",
      "auth_failed",
      "403 with Cloudflare's page",
      http(
        403,
        "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Cloudflare. Sorry, you have been blocked</body></html>",
      ),
    ),
    fails(
      "no-responses-api",
      "executor_unavailable",
      "404 of a server without that path",
      http(404, '{"detail":"Not Found"}'),
    ),
    fails("method-not-allowed", "executor_unavailable", "405", http(405, "Method Not Allowed", PLAIN)),
    fails("not-implemented", "executor_unavailable", "501", refuse(501, "Not implemented: responses"), {
      also: ["provider_error"],
    }),
    fails(
      "a-chat-completion",
      "executor_unavailable",
      "200 with a whole answer of another API",
      http(200, {
        id: "chatcmpl-9",
        object: "chat.completion",
        choices: [{ index: 0, message: { role: "assistant", content: "Hi." } }],
      }),
      { also: ["network_error", "provider_error"] },
    ),
    fails(
      "answer-lm-studio",
      "executor_unavailable",
      "200 with plain JSON for an unknown path",
      http(200, { error: "Unexpected endpoint or method. (POST /v1/responses)" }),
      { also: ["network_error", "provider_error"] },
    ),
    fails(
      "model-not-found-400",
      "model_not_found",
      "400 with the code",
      refuse(400, "The requested model 'm1' does not exist.", "model_not_found"),
    ),
    fails(
      "image-invalid",
      "invalid_request",
      "400 for an image, in the CLI's own words",
      refuse(
        400,
        "The image data you provided does not represent a valid image. Please check your input and try again.",
        "invalid_image_format",
      ),
    ),
    fails("bad-request-plain", "invalid_request", "400 without JSON", http(400, "Bad Request", PLAIN)),
    fails(
      "bad-request-odd",
      "invalid_request",
      "400 with plain words that say nothing",
      http(400, "We could not make sense of this.", PLAIN),
    ),
    fails(
      "bad-request-quoted",
      "invalid_request",
      "400 with a JSON string",
      http(400, '"The payload is not valid"', JSON_TYPE),
    ),
    fails(
      "bad-request-unreadable",
      "invalid_request",
      "400 in an encoding that the CLI did not ask for",
      http(400, brotliCompressSync(JSON.stringify({ error: { message: "A field of the request is missing." } })), {
        ...JSON_TYPE,
        "content-encoding": "br",
      }),
    ),
    fails(
      "output-flagged",
      "content_blocked",
      "400 with the code of a content policy: the CLI leaves the bare sentence",
      refuse(400, "The tool's output was flagged.", "content_policy_violation"),
    ),
    fails(
      "request-too-large",
      "invalid_request",
      "413",
      refuse(413, "Request exceeds the maximum size.", "request_too_large"),
    ),
    fails("request-timeout", "provider_timeout", "408", refuse(408, "Timed out.", "request_timeout")),
    fails(
      "usage-limit",
      "quota_exceeded",
      "429 of a plan",
      http(429, {
        error: { type: "usage_limit_reached", message: "The usage limit has been reached", resets_in_seconds: 3600 },
      }),
    ),
    fails(
      "bad-gateway",
      "provider_error",
      "502 with a page",
      http(502, "<html><body><h1>502 Bad Gateway</h1></body></html>"),
    ),
    fails("server-error-asked-once", "provider_error", "500, retries off", SERVER_ERROR, { toml: ONCE }),
    fails("page-after-tool", "provider_error", "a gateway's page for every second request", [
      TOOL,
      http(503, "<html><title>Maintenance</title></html>"),
    ]),
    fails("gateway-timeout", "provider_error", "504 of a gateway", http(504, "upstream request timeout", PLAIN), {
      also: ["provider_timeout"],
    }),
  ),
];
