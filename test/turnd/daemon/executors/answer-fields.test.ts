import { describe, expect, test } from "vitest";
import { readAnswerBody } from "../../../../src/turnd/daemon/executors/providers/answer-body.ts";
import { classify as classifyCliA } from "../../../../src/turnd/daemon/executors/cli-a/failures/failure.ts";
import { toErrorFact, toRequestFact } from "../../../../src/turnd/daemon/executors/cli-a/failures/facts.ts";
import { toProviderFact } from "../../../../src/turnd/daemon/executors/cli-b/failures/facts.ts";
import { classify as classifyCliB } from "../../../../src/turnd/daemon/executors/cli-b/failures/failure.ts";

describe("structured fields outweigh words", () => {
  const ofCliA = (name: string, data: Parameters<typeof toErrorFact>[0]["data"]): string =>
    classifyCliA([toErrorFact({ name, data }, 1)]).code;
  const ofCliB = (message: string): string =>
    classifyCliB([toProviderFact(message, { line: 1, hasItems: false })]).code;

  test.each([
    [401, "Rate limit reached for unknown model, prompt is too long", "auth_failed"],
    [403, "The model does not exist in your project", "auth_failed"],
    [429, "The model is overloaded, prompt is too long", "rate_limited"],
    [500, "Incorrect API key provided to upstream", "provider_error"],
    [503, "rate limit service unavailable", "provider_error"],
    [400, "Rate limit header is malformed", "invalid_request"],
    [422, "field max_tokens: unexpected token", "invalid_request"],
  ])("%i %j is %s for both CLIs", (status, message, code) => {
    expect(ofCliA("APIError", { message, statusCode: status })).toBe(code);
    if (status === 400) expect(ofCliB(JSON.stringify({ error: { message } }))).toBe(code);
    else expect(ofCliB(`unexpected status ${status} Reason: ${message}, url: http://x/v1/responses`)).toBe(code);
  });

  test("the words of an address match nothing", () => {
    const url = "http://x/model/does-not-exist/rate-limit/quota-exceeded/v1/responses";
    expect(ofCliB(`unexpected status 404 Not Found: no such page, url: ${url}`)).toBe("executor_unavailable");
    expect(ofCliB(`unexpected status 401 Unauthorized: , url: ${url}`)).toBe("auth_failed");
  });

  test.each([
    'Type validation failed: Value: {"choices":[{"delta":{"content":"rate limit, quota exceeded, prompt is too long"}}]}.',
    "JSON parsing failed: Text: the model does not exist, invalid api key.",
  ])("what quotes the model's own text is a malformed answer: %j", (message) => {
    expect(ofCliA("UnknownError", { message })).toBe("provider_error");
  });

  test("an error inside a stream is read by its code and by the status in it", () => {
    const inStream = (body: unknown): string => ofCliA("UnknownError", { message: JSON.stringify(body) });
    expect(inStream({ type: "rate_limit_error", message: "slow" })).toBe("rate_limited");
    expect(inStream({ error: { code: 429, message: "Provider returned error" } })).toBe("rate_limited");
    expect(inStream({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } })).toBe(
      "provider_error",
    );
    expect(inStream("You exceeded your current quota")).toBe("quota_exceeded");
    expect(inStream("boom")).toBe("provider_error");
  });

  test.each([
    ["authentication_error", "OAuth token has expired.", "auth_failed"],
    ["permission_error", "This key may not use that.", "auth_failed"],
    ["not_found_error", "model: claude-none", "model_not_found"],
    ["billing_error", "Your credit balance is too low", "quota_exceeded"],
    ["invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context_overflow"],
    ["rate_limit_error", "Number of requests is above your limit.", "rate_limited"],
    ["invalid_request_error", "messages.1: `tool_use` ids must be unique", "invalid_request"],
    ["timeout_error", "No answer in time.", "provider_timeout"],
    ["api_error", "Internal server error", "provider_error"],
    ["odd_error", "Something else", "provider_error"],
  ])("the 500 that stands for a stream's first error is no status of the provider's: %s", (type, message, code) => {
    const error = {
      message,
      statusCode: 500,
      responseBody: JSON.stringify({ type, message }),
      responseHeaders: { "content-type": "text/event-stream; charset=utf-8" },
    };
    expect(ofCliA("APIError", error)).toBe(code);
    const logged = classifyCliA([toRequestFact({ ...error, name: "AI_APICallError" }, 1)]);
    expect(logged.code).toBe(code);
  });

  test.each([
    { responseHeaders: { "content-type": "application/json" } },
    { responseHeaders: undefined },
    { statusCode: 503 },
    { responseBody: "event: error\n" },
  ])("a status that the provider sent outweighs its codes: %j", (sent) => {
    const error = {
      message: "Upstream said no.",
      statusCode: 500,
      responseBody: '{"type":"authentication_error"}',
      responseHeaders: { "content-type": "text/event-stream" },
    };
    expect(ofCliA("APIError", { ...error, ...sent })).toBe("provider_error");
  });
});

describe("readAnswerBody", () => {
  test.each([
    ['{"error":{"message":"no","type":"t","code":"c"}}', { codes: "c t", sentence: "no" }],
    [
      '[{"error":{"code":400,"message":"no","status":"S","details":[{"reason":"R"},7]}}]',
      { codes: "400 S R", sentence: "no", status: 400 },
    ],
    ['{"code":"c","error":"no"}', { codes: "c", sentence: "no" }],
    ['{"detail":"no"}', { sentence: "no" }],
    ['{"message":{"detail":[{"loc":["a"]}]},"type":"t"}', { codes: "t", sentence: '{"detail":[{"loc":["a"]}]}' }],
    [
      '{"error":{"code":429,"message":"wrapped","metadata":{"raw":"the cause"}}}',
      { codes: "429", sentence: "wrapped: the cause", status: 429 },
    ],
    [
      '{"type":"response.failed","response":{"error":{"code":"c","message":"no"}}}',
      { codes: "c response.failed", sentence: "no" },
    ],
    ['{"error":{"code":"1113","message":"no"}}', { codes: "1113", sentence: "no" }],
    ['"no"', { sentence: "no" }],
    ["{}", {}],
    ['{"error":null}', {}],
    ['{"error":[1,{}],"message":7}', {}],
  ])("reads %s", (body, read) => {
    expect(readAnswerBody(body)).toEqual(read);
  });

  test.each(["", "<html>502</html>", '{"error":{"message":"cut of', "null", "12", "error code: 520"])(
    "takes %j for no body",
    (body) => {
      expect(readAnswerBody(body)).toBeUndefined();
    },
  );

  test("bounds what it keeps", () => {
    const { sentence = "" } = readAnswerBody(JSON.stringify({ message: "x".repeat(100_000) })) ?? {};
    expect(sentence.length).toBeLessThanOrEqual(2_000);
  });
});
