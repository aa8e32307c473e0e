import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import { toProviderFact, WITHOUT_COMPLETION } from "../../../../../src/turnd/daemon/executors/cli-b/failures/facts.ts";
import { toExitFacts } from "../../../../../src/turnd/daemon/executors/classification/rules.ts";
import { classify, RULES } from "../../../../../src/turnd/daemon/executors/cli-b/failures/failure.ts";
import type { FailureDraft } from "../../../../../src/turnd/daemon/executors/contract/failures.ts";
import type { Outcome } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";
import { listRecordings, play } from "../recordings.ts";

const FIXTURES = resolve(import.meta.dirname, "../../../../../fixtures");

const codeOf = (message: string, hasItems = false): string =>
  classify([toProviderFact(message, { line: 3, hasItems })]).code;

/** How a process that printed these lines and ended so is explained. */
function explain(
  lines: readonly string[],
  outcome: Partial<Outcome> & Pick<Outcome, "exit">,
): FailureDraft | undefined {
  const translator = cliB.createTranslator({ requestedSession: null });
  lines.forEach((text, index) => translator.push({ source: "stdout", number: index + 1, text, isTruncated: false }));
  return translator.end({ wasStopped: false, ...outcome }).failure;
}

const COMPLETED = '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}';
const RATE_LIMITED_RETRY =
  '{"type":"error","message":"Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"}';

test.each(RULES)("rule $id names where it was seen", ({ seenIn }) => {
  if (/^docs\/[\w/-]+\.md §\d/.test(seenIn)) return;
  expect(existsSync(join(FIXTURES, seenIn, "stdout.jsonl"))).toBe(true);
});

test("every rule that names a fixture decides it, or stands behind one that does", () => {
  const deciding = new Map(
    listRecordings(FIXTURES, "cli-b").map((recording) => [recording.name, play(cliB, recording).ending.failure]),
  );
  for (const rule of RULES.filter(({ seenIn }) => seenIn.startsWith("cli-b/"))) {
    expect(deciding.get(rule.seenIn)?.code, `${rule.id} in ${rule.seenIn}`).toBe(rule.code);
  }
});

test("rule ids are unique", () => {
  expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
});

test.each([
  ["exceeded retry limit, last status: 429 Too Many Requests, request id: abc", "rate_limited"],
  ["exceeded retry limit, last status: 503 Service Unavailable", "provider_error"],
  ["unexpected status 500 Internal Server Error: boom, url: http://x/v1/responses", "provider_error"],
  ["unexpected status 413 Payload Too Large: too big, url: http://x/v1/responses", "invalid_request"],
  ["unexpected status 404 Not Found: <html>nginx</html>, url: http://x/v1/responses", "executor_unavailable"],
  [
    'unexpected status 403 Forbidden: {"error":{"code":"insufficient_quota"}}, url: http://x/v1/responses',
    "quota_exceeded",
  ],
  ['{"error":{"message":"no","code":"invalid_prompt"}}', "content_blocked"],
  ['{"error":{"message":"The key is wrong","type":"authentication_error"}}', "auth_failed"],
  ['{"detail":"nope"}', "invalid_request"],
  ["internal error; agent loop died unexpectedly", "crashed"],
  ["a message of no rule", "invalid_request"],
])("the provider's message %j is %s", (message, code) => {
  expect(codeOf(message)).toBe(code);
});

test("a stream that closes early is the provider's failure before any item, and the network's after one", () => {
  const message = "stream disconnected before completion: stream closed before response.completed";
  expect(codeOf(message, false)).toBe("provider_error");
  expect(codeOf(message, true)).toBe("network_error");
});

test("exit code 0 without turn.completed is no success", () => {
  expect(explain(['{"type":"turn.started"}'], { exit: { code: 0, signal: null } })?.code).toBe("output_incomplete");
});

test("exit code 0 with a record after turn.completed is no success", () => {
  const lines = [COMPLETED, '{"type":"turn.started"}'];
  expect(explain(lines, { exit: { code: 0, signal: null } })?.code).toBe("output_incomplete");
});

test("noise on stdout after turn.completed changes nothing", () => {
  expect(explain([COMPLETED, "bye"], { exit: { code: 0, signal: null } })).toBeUndefined();
});

test.each([
  { code: 1, signal: null },
  { code: null, signal: "SIGSEGV" },
  { code: 101, signal: null },
])("an abnormal exit %j after turn.completed is a crash", (exit) => {
  expect(explain([COMPLETED], { exit })).toMatchObject({ code: "crashed", rule: "exit-after-completion" });
});

test("a signal proves nothing when turnd sent it", () => {
  const failure = explain(['{"type":"turn.started"}'], { exit: { code: null, signal: "SIGKILL" }, wasStopped: true });
  expect(failure).toMatchObject({ code: "unknown", isProven: false });
});

test("a retry the CLI was still in when turnd stopped it proves the cause", () => {
  const exit = { code: null, signal: "SIGKILL" };
  expect(explain([RATE_LIMITED_RETRY], { exit, wasStopped: true })).toMatchObject({
    code: "rate_limited",
    isProven: true,
  });
  const recovered = [
    RATE_LIMITED_RETRY,
    '{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"x"}}',
  ];
  expect(explain(recovered, { exit, wasStopped: true })).toMatchObject({ isProven: false });
});

test("a signal from outside outweighs a retry under way", () => {
  expect(explain([RATE_LIMITED_RETRY], { exit: { code: null, signal: "SIGKILL" } })?.code).toBe("crashed");
});

test("an end that was not observed proves nothing", () => {
  expect(explain([COMPLETED], { exit: null })).toMatchObject({ code: "unknown", isProven: false });
});

test("a start-up message over several lines is read whole", () => {
  const translator = cliB.createTranslator({ requestedSession: null });
  ["Error loading config.toml:", "/h/config.toml:1:1: unknown variant `x`, expected `responses`"].forEach(
    (text, index) => translator.push({ source: "stderr", number: index + 1, text, isTruncated: false }),
  );
  const { failure } = translator.end({ exit: { code: 1, signal: null }, wasStopped: false });
  expect(failure).toMatchObject({ code: "executor_unavailable", evidence: [{ source: "stderr", line: 1 }] });
});

test("an exit names code and signal as evidence", () => {
  expect(toExitFacts({ code: null, signal: "SIGKILL" }, WITHOUT_COMPLETION)[0]?.text).toBe(
    "killed by SIGKILL, without turn.completed",
  );
  expect(toExitFacts(null, WITHOUT_COMPLETION)).toEqual([]);
});
