import { describe, expect, test } from "vitest";
import { cliA } from "../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import { cliB } from "../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { Executor } from "../../../../src/turnd/daemon/executors/contract/executor.ts";
import type { FailureDraft } from "../../../../src/turnd/daemon/executors/contract/failures.ts";
import { error } from "./cli-a/lines.ts";

function play(executor: Executor, stdout: string): FailureDraft | undefined {
  const translator = executor.createTranslator({ requestedSession: null });
  translator.push({ source: "stdout", number: 1, text: stdout, isTruncated: false });
  return translator.end({ exit: { code: 1, signal: null }, wasStopped: false }).failure;
}

/** A refusal as CLI A prints it. */
function ofCliA(status: number, type: string, message: string): FailureDraft | undefined {
  const responseBody = JSON.stringify({ type: "error", error: { type, message } });
  return play(cliA, error("APIError", { message, statusCode: status, responseBody }));
}

/** The final words of CLI B. */
const ofCliB = (message: string): FailureDraft | undefined =>
  play(cliB, JSON.stringify({ type: "turn.failed", error: { message } }));

const refused = (status: number, message: string): string =>
  `unexpected status ${status} Reason: ${message}, url: http://x/v1/responses`;

/** The hosted provider of CLI A answers all of these with 401; the class of its error is `type`. */
describe.each([
  ["CreditsError", "Insufficient balance. Manage your billing here: https://example.test/billing", "quota_exceeded"],
  ["CreditsError", "No payment method. Add a payment method here: https://example.test/billing", "quota_exceeded"],
  ["MonthlyLimitError", "Your workspace has reached its monthly spending limit of $20.", "quota_exceeded"],
  ["UserLimitError", "You have reached your monthly spending limit of $20.", "quota_exceeded"],
  ["ModelError", "Model foo-1 is not supported", "model_not_found"],
  ["ModelError", "Model is disabled", "model_not_found"],
  ["AuthError", "Missing API key.", "auth_failed"],
  ["AuthError", "Invalid API key.", "auth_failed"],
])("401 %s %j", (type, message, code) => {
  test(`is ${code} for CLI A`, () => {
    expect(ofCliA(401, type, message)).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  test(`is ${code} for CLI B, which prints the words alone, and quotes them`, () => {
    expect(ofCliB(refused(401, message))).toMatchObject({ code, message: expect.stringContaining(message) });
  });
});

test.each([
  [401, "Incorrect API key provided. You can find your subscription's key in the portal.", "auth_failed"],
  [401, "Access denied due to invalid subscription key or wrong API endpoint.", "auth_failed"],
  [401, "The request with this token names a model", "auth_failed"],
  [424, "Received server error from model", "invalid_request"],
])("%i %j is %s", (status, message, code) => {
  expect(ofCliB(refused(status, message))?.code).toBe(code);
});

test("a container's ModelError is no model that is not known", () => {
  expect(ofCliA(424, "ModelError", "Received server error (500) from model")?.code).not.toBe("model_not_found");
});

test.each([
  [402, "Top up at the counter", "quota_exceeded"],
  [403, "Nobody may enter", "auth_failed"],
  [408, "Too slow by half", "provider_timeout"],
  [503, "Out for lunch", "provider_error"],
  [404, "No such page", "executor_unavailable"],
])("what a %i of CLI B's provider says is quoted", (status, message, code) => {
  expect(ofCliB(refused(status, message))).toMatchObject({ code, message: expect.stringContaining(`“${message}”`) });
});

test("a status without words is not quoted, and its address decides nothing", () => {
  const failure = ofCliB("unexpected status 401 Unauthorized: , url: http://x/quota-exceeded/model-not-found");
  expect(failure).toMatchObject({ code: "auth_failed", message: "The provider refused the API key (401)" });
});

test("a final 426 is another protocol, for both CLIs", () => {
  expect(ofCliA(426, "error", "Upgrade Required")?.code).toBe("executor_unavailable");
  expect(ofCliB(refused(426, "Upgrade Required"))?.code).toBe("executor_unavailable");
});

test("what is free is not paid for with credit", () => {
  const free = ofCliB(refused(403, "You have exhausted the free tier of this model"));
  expect(free).toMatchObject({ code: "quota_exceeded", remedy: expect.not.stringContaining("credit") });
  expect(ofCliB(refused(403, "You have exhausted your credits"))?.remedy).toBeUndefined();
});

describe.each(["remote", "local"])("what fails while CLI B compacts the conversation (%s)", (where) => {
  const compacting = (cause: string): FailureDraft | undefined =>
    ofCliB(`Error running ${where} compact task: ${cause}`);

  test.each([
    [
      '{"error":{"message":"nope","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}',
      "auth_failed",
    ],
    ["timeout waiting for child process to exit", "crashed"],
    ["spawn failed: No such file", "crashed"],
    [refused(401, "Insufficient balance."), "quota_exceeded"],
    ["stream disconnected before completion: error sending request for url (http://x/v1/responses)", "network_error"],
    ["exceeded retry limit, last status: 429 Too Many Requests", "rate_limited"],
    ["Codex ran out of room in the model's context window.", "context_overflow"],
  ])("has the cause that follows: %s", (cause, code) => {
    const failure = compacting(cause);
    expect(failure).toMatchObject({ code, message: expect.stringMatching(/^Compacting the conversation failed: /) });
    expect(failure?.evidence[0]?.text).toContain("compact task: ");
  });

  test("is helped by a new session where the conversation is at fault, and not where the key is", () => {
    const helped = { remedy: expect.stringContaining("new session") };
    expect(compacting("Codex ran out of room in the model's context window.")).toMatchObject(helped);
    expect(compacting(refused(401, "Invalid API key"))).not.toMatchObject(helped);
  });
});
