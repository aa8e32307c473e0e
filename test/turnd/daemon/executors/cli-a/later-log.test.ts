import { expect, test } from "vitest";
import { readLogLine } from "../../../../../src/turnd/daemon/executors/cli-a/records/log-line.ts";
import { error as printedError, SESSION, stepFinish, stepStart, text, translate } from "./lines.ts";

/** The log as 1.18.33 writes it (seen with `node lab/matrix.ts`): pairs alone, and no status. */
const pairs = (message: string, rest: string, level = "INFO"): string =>
  `timestamp=2026-11-21T08:00:00.861Z level=${level} run=6304ff2d message=${message} ${rest}`;
const LLM = `providerID=lab modelID=m session.id=${SESSION} small=false agent=build mode=primary`;
const failed = (error: string, keys = LLM): string => pairs('"stream error"', `${keys} ${error}`, "ERROR");

function codeOf(...lines: string[]): string | undefined {
  const killed = { exit: { code: null, signal: "SIGKILL" }, wasStopped: true };
  return translate(
    lines.map((err) => ({ err })),
    killed,
  ).ending.failure?.code;
}

test.each([
  ['error.error="AI_APICallError: Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000"', "rate_limited"],
  [
    'error.error="AI_APICallError: You exceeded your current quota, please check your plan and billing details."',
    "quota_exceeded",
  ],
  ['error.error="AI_APICallError: The server had an error processing your request."', "provider_error"],
  ['error.error="AI_APICallError: Service Unavailable"', "provider_error"],
  ['error.error="AI_APICallError: Bad Request"', "invalid_request"],
  ['error.error="AI_APICallError: Conflict"', "invalid_request"],
  ['error.error="AI_APICallError: Request Timeout"', "provider_timeout"],
  ['error.error="AI_APICallError: try later"', "provider_error"],
  ['error.error="AI_APICallError: Cannot connect to API: Unable to connect."', "network_error"],
  ['error.error.message="Slow down" error.error.type=tokens error.error.code=rate_limit_exceeded', "rate_limited"],
  ['error.error.message="Overloaded" error.error.type=overloaded_error', "provider_error"],
])("a failed request with %s is %s", (error, code) => {
  expect(codeOf(failed(error))).toBe(code);
});

test("a request for the title decides nothing", () => {
  const title = `providerID=lab modelID=m session.id=${SESSION} small=true agent=title mode=primary`;
  expect(codeOf(failed('error.error="AI_APICallError: Rate limit reached"', title))).toBe("unknown");
});

test("a failure that a retry resolves is dropped", () => {
  const step = pairs("loop", `session.id=${SESSION} step=1`);
  expect(codeOf(failed('error.error="AI_APICallError: Rate limit reached"'), step)).toBe("unknown");
});

test("a session shows at its start, a subagent's does not", () => {
  const created = (parent: string): string =>
    pairs("created", `id=${SESSION} slug=x parentID=${parent} title="loop id=ses_other"`);
  const own = translate([{ err: created("undefined") }], { wasStopped: true });
  expect(own.ending.nativeSessionId).toBe(SESSION);
  expect(translate([{ err: created("ses_parent") }], { wasStopped: true }).ending.nativeSessionId).toBeNull();
});

test("pairs within quoted words are words", () => {
  const line = pairs(
    '"stream error"',
    `note="session.id=ses_evil agent=build" ${LLM} error.error="X: a \\"b\\" small=true"`,
  );
  expect(readLogLine(line)?.log).toMatchObject({ kind: "request_failed", sessionId: SESSION, error: { name: "X" } });
});

test("a line of any length is read as far as the logger's own keys go", () => {
  const line = pairs('"stream error"', `${LLM} error.error="${'a=\\"'.repeat(500_000)}`);
  expect(readLogLine(line)?.log.kind).toBe("request_failed");
});

/** What stdout says where the cause is in the log alone. */
const HIDDEN = { message: "Unexpected server error. Check server logs for details.", ref: "err_1" };
const cause = (error: string, ref = "err_1"): { err: string } => ({
  err: pairs(
    "failed",
    `ref=${ref} error=${JSON.stringify(error)} cause="X\\n    at SessionPrompt.command (a:1)"`,
    "ERROR",
  ),
});
const EXIT_1 = { exit: { code: 1, signal: null } };

test.each([
  ["ProviderModelNotFoundError: Model not found: lab/nope.", "model_not_found"],
  ["effect/sql/SqlError: Failed to execute statement (cause: SQLiteError: database or disk is full)", "storage_error"],
  ["UnknownError: UnknownError", "invalid_request"],
  ["Error: Something new", "unknown"],
])("an error whose cause is in the log is that cause: %s", (error, code) => {
  const record = printedError("UnknownError", HIDDEN);
  expect(translate([record, cause(error)], EXIT_1).ending.failure?.code).toBe(code);
  expect(translate([cause(error), record], EXIT_1).ending.failure?.code).toBe(code);
});

test("without that line, or with another's, the cause is not known", () => {
  const record = printedError("UnknownError", HIDDEN);
  const other = cause("ProviderModelNotFoundError: Model not found: lab/nope.", "err_2");
  for (const lines of [[record], [record, other]]) {
    expect(translate(lines, EXIT_1).ending.failure?.code).toBe("unknown");
  }
});

test("the next request of a step shows that a failure is retried, a new step does not", () => {
  const asked = { err: pairs("stream", LLM) };
  const refused = { err: failed('error.error="AI_APICallError: Rate limit reached"') };
  const step = { err: pairs("loop", `session.id=${SESSION} step=1`) };
  const retries = (...lines: { err: string }[]): unknown[] =>
    translate(lines).events.flatMap((event) => (event.type === "retry" ? [event.data] : []));
  expect(retries(asked, refused, asked, refused)).toMatchObject([{ attempt: 1, code: "rate_limited" }]);
  expect(retries(asked, refused, asked, refused, asked)).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
  expect(retries(asked, refused, step, asked)).toEqual([]);
});

test("an exit with 1 is the error's that was got over; without one it is a crash", () => {
  const answer = [stepStart(), text("Done."), stepFinish("stop")];
  const over = printedError("ContextOverflowError", { message: "too long" });
  const ended = translate([over, ...answer], EXIT_1).ending;
  expect([ended.failure, ended.proof?.exitCode]).toEqual([undefined, 1]);
  expect(translate(answer, EXIT_1).ending.failure?.code).toBe("crashed");
  expect(translate([...answer, over], EXIT_1).ending.failure?.code).toBe("context_overflow");
  expect(translate([over, ...answer], { exit: { code: 2, signal: null } }).ending.failure?.code).toBe("crashed");
});

test("what a tool or the model prints of such a line is no line of the log", () => {
  const line = pairs("failed", 'ref=err_1 error="ProviderModelNotFoundError: Model not found: x/y."', "ERROR");
  const record = printedError("UnknownError", HIDDEN);
  expect(translate([record, { err: `output: ${line}` }], EXIT_1).ending.failure?.code).not.toBe("model_not_found");
});
