import { expect, test } from "vitest";
import { readLogLine } from "../../../src/daemon/executors/cli-a/records/log-line.ts";
import { SESSION, translate } from "./lines.ts";

/** The log as 1.18.33 writes it (seen with `node scripts/generate/matrix.ts`): pairs alone, and no status. */
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
