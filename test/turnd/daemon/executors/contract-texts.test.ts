import { expect, test } from "vitest";
import type { FailureCode } from "../../../../src/turnd/protocol/index.ts";
import { classify as classifyCliA } from "../../../../src/turnd/daemon/executors/cli-a/failures/failure.ts";
import { toErrorFact } from "../../../../src/turnd/daemon/executors/cli-a/failures/facts.ts";
import { toProviderFact } from "../../../../src/turnd/daemon/executors/cli-b/failures/facts.ts";
import { classify as classifyCliB } from "../../../../src/turnd/daemon/executors/cli-b/failures/failure.ts";

/** Every text that the contract of CLI B lists for `turn.failed`, with the code a person would give. Source: docs/contracts/cli-b.md §5, §7. */
const CLI_B: readonly (readonly [string, FailureCode])[] = [
  ["Missing environment variable: `OPENAI_API_KEY`.", "credential_missing"],
  ["unexpected status 401 Unauthorized: no, url: http://x/v1/responses", "auth_failed"],
  ["unexpected status 403 Forbidden: no, url: http://x/v1/responses", "auth_failed"],
  ["unexpected status 402 Payment Required: no, url: http://x/v1/responses", "quota_exceeded"],
  ['{"error":{"message":"no","code":"model_not_found"}}', "model_not_found"],
  ["unexpected status 404 Not Found: The model `x` does not exist, url: http://x/v1/responses", "model_not_found"],
  ['unexpected status 404 Not Found: {"detail":"Not Found"}, url: http://x/v1/responses', "executor_unavailable"],
  ["unexpected status 405 Method Not Allowed: no, url: http://x/v1/responses", "executor_unavailable"],
  ["unexpected status 501 Not Implemented: no, url: http://x/v1/responses", "executor_unavailable"],
  ["stream disconnected before completion: stream closed before response.completed", "provider_error"],
  ["Codex ran out of room in the model's context window. Start a new thread", "context_overflow"],
  ['{"error":{"message":"no","code":"context_length_exceeded"}}', "context_overflow"],
  ["unexpected status 413 Payload Too Large: no, url: http://x/v1/responses", "invalid_request"],
  ["exceeded retry limit, last status: 429 Too Many Requests, request id: abc", "rate_limited"],
  ["stream disconnected before completion: Rate limit reached for x. Please try again in 3s.", "rate_limited"],
  ["Quota exceeded. Check your plan and billing details.", "quota_exceeded"],
  ["You've hit your usage limit. Try again later.", "quota_exceeded"],
  ["To use Codex with your ChatGPT plan, upgrade to Plus: https://x", "quota_exceeded"],
  ["Your workspace is out of credits.", "quota_exceeded"],
  ["Your workspace has reached its spend cap.", "quota_exceeded"],
  ["Insufficient Balance", "quota_exceeded"],
  ["Selected model is at capacity. Please try a different model.", "provider_error"],
  ["We're currently experiencing high demand, which may cause temporary errors.", "provider_error"],
  ["unexpected status 502 Bad Gateway: no, url: http://x/v1/responses", "provider_error"],
  ["exceeded retry limit, last status: 503 Service Unavailable", "provider_error"],
  ["stream disconnected before completion: error sending request for url (http://x/v1/responses)", "network_error"],
  [
    "stream disconnected before completion: Transport error: network error: error decoding response body",
    "network_error",
  ],
  ["error sending request: failed to lookup address information", "network_error"],
  ["Connection failed: tcp connect error", "network_error"],
  ["Error while reading the server response: unexpected end of file, request id: abc", "network_error"],
  ["stream disconnected before completion: idle timeout waiting for SSE", "provider_timeout"],
  ["request timed out", "provider_timeout"],
  ["stream disconnected before completion: builder error", "config_invalid"],
  ["stream disconnected before completion: Incomplete response returned, reason: max_output_tokens", "output_limit"],
  ["stream disconnected before completion: Incomplete response returned, reason: content_filter", "content_blocked"],
  ["Image poisoning", "invalid_request"],
  ["This request was flagged for possible cybersecurity risk.", "content_blocked"],
  ["Invalid prompt: no", "content_blocked"],
  ['{"error":{"message":"no","code":"unsupported_parameter"}}', "invalid_request"],
  ["turn aborted. Something went wrong? Hit `/feedback` to report the issue.", "crashed"],
  ["no thread with id: 01a1fd1a-5463-7e72-9eca-765c0aaffeed", "resume_degraded"],
  ["agent thread limit reached (max 6)", "invalid_request"],
  ["timeout waiting for child process to exit", "crashed"],
  ["spawn failed: child stdout/stderr not captured", "crashed"],
  ["interrupted (Ctrl-C). Something went wrong? Hit `/feedback` to report the issue.", "crashed"],
  ["internal error; agent loop died unexpectedly", "crashed"],
  [
    "sandbox error: sandbox denied exec error, exit code: 1, stdout: , stderr: Read-only file system",
    "permission_denied",
  ],
  ["sandbox error: command timed out", "crashed"],
  ["sandbox error: command was killed by a signal", "crashed"],
  ["sandbox error: seccomp setup error", "sandbox_unavailable"],
  ["sandbox error: Landlock was not able to fully enforce all sandbox rules", "sandbox_unavailable"],
  [
    "sandbox error: sandbox denied exec error, exit code: 1, stdout: , stderr: bwrap: Creating new namespace failed",
    "sandbox_unavailable",
  ],
  ["codex-linux-sandbox was required but not provided", "sandbox_unavailable"],
  ["unsupported operation: review of a detached thread", "invalid_request"],
  ["Fatal error: no", "crashed"],
];

test.each(CLI_B)("CLI B's %j is %s", (message, code) => {
  expect(classifyCliB([toProviderFact(message, { line: 1, hasItems: false })]).code).toBe(code);
});

test("an interruption proves nothing: turnd itself may have sent the signal", () => {
  const fact = toProviderFact("interrupted (Ctrl-C). Something went wrong?", { line: 1, hasItems: false });
  expect(classifyCliB([fact]).isProven).toBe(false);
});

/** Every error that the contract of CLI A lists. Source: docs/contracts/cli-a.md §5. */
const CLI_A: readonly (readonly [string, { readonly message?: string } & Record<string, unknown>, FailureCode])[] = [
  ["APIError", { message: "no", statusCode: 401 }, "auth_failed"],
  ["APIError", { message: "Unauthorized: request was blocked by a gateway or proxy.", statusCode: 401 }, "auth_failed"],
  ["APIError", { message: "no", statusCode: 403 }, "auth_failed"],
  ["APIError", { message: "no", statusCode: 402 }, "quota_exceeded"],
  [
    "APIError",
    { message: "no", statusCode: 400, responseBody: '{"error":{"code":"insufficient_quota"}}' },
    "quota_exceeded",
  ],
  ["APIError", { message: "Quota exceeded. Check your plan and billing details." }, "quota_exceeded"],
  ["APIError", { message: "no", statusCode: 404 }, "model_not_found"],
  [
    "APIError",
    { message: "no", statusCode: 400, responseBody: '{"error":{"code":"model_not_found"}}' },
    "model_not_found",
  ],
  ["APIError", { message: "The model `x` does not exist", statusCode: 400 }, "model_not_found"],
  ["APIError", { message: "no", statusCode: 400 }, "invalid_request"],
  ["APIError", { message: "no", statusCode: 429, isRetryable: true }, "rate_limited"],
  ["APIError", { message: "no", statusCode: 500, isRetryable: true }, "provider_error"],
  ["APIError", { message: "no", statusCode: 529, isRetryable: true }, "provider_error"],
  ["APIError", { message: "Connection reset by server", metadata: { code: "ECONNRESET" } }, "network_error"],
  ["APIError", { message: "Cannot reach it", metadata: { code: "ECONNREFUSED", syscall: "connect" } }, "network_error"],
  ["APIError", { message: "no", metadata: { url: "http://x" } }, "provider_error"],
  ["ContextOverflowError", { message: "prompt is too long" }, "context_overflow"],
  ["ProviderAuthError", { providerID: "x", message: "Anthropic API key is missing." }, "credential_missing"],
  ["UnknownError", { message: "Model not found: x/y." }, "model_not_found"],
  ["UnknownError", { message: 'Agent not found: "x"' }, "invalid_request"],
  ["UnknownError", { message: 'Command not found: "x"' }, "invalid_request"],
  ["UnknownError", { message: "ProviderInitError" }, "executor_unavailable"],
  ["UnknownError", { message: "Unable to connect. Is the computer able to access the url?" }, "network_error"],
  ["UnknownError", { message: "Was there a typo in the url or port?" }, "network_error"],
  ["UnknownError", { message: "The socket connection was closed unexpectedly." }, "network_error"],
  ["UnknownError", { message: "Cannot connect to API: other side closed" }, "network_error"],
  ["UnknownError", { message: "The operation timed out." }, "provider_timeout"],
  ["UnknownError", { message: "SSE read timed out" }, "provider_timeout"],
  ["UnknownError", { message: "JSON parsing failed: Text: x." }, "provider_error"],
  ["UnknownError", { message: "Type validation failed: Value: x." }, "provider_error"],
  ["UnknownError", { message: '"boom in stream"' }, "provider_error"],
  ["UnknownError", { message: "The user rejected permission to use this specific tool call." }, "permission_denied"],
  [
    "UnknownError",
    { message: "The user has specified a rule which prevents you from using this specific tool call." },
    "permission_denied",
  ],
  ["MessageAbortedError", { message: "The operation was aborted." }, "crashed"],
  ["MessageAbortedError", { message: "Aborted" }, "crashed"],
  ["MessageOutputLengthError", {}, "output_limit"],
  ["StructuredOutputError", { message: "Model did not produce structured output", retries: 2 }, "provider_error"],
];

test.each(CLI_A)("CLI A's %s %j is %s", (name, { message = "", ...rest }, code) => {
  const fact = toErrorFact({ name, data: { message, ...rest } }, 1);
  expect(classifyCliA([fact]).code).toBe(code);
});
