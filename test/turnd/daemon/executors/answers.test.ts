import { describe, expect, test } from "vitest";
import { cliA } from "../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import { cliB } from "../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { Executor } from "../../../../src/turnd/daemon/executors/contract/executor.ts";
import type { Outcome } from "../../../../src/turnd/daemon/executors/contract/translator.ts";
import { toText, type Answer } from "./answers/answer.ts";
import { ANSWERS } from "./answers/answers.ts";
import { error, log } from "./cli-a/lines.ts";

const SESSION = "session.id=ses_e02e5a526ffe2BVx71Fctcaay6";

interface Printed {
  readonly stdout?: string;
  readonly stderr?: string;
}

/** Plays what one process printed to its end. */
function codeOf(executor: Executor, { stdout, stderr }: Printed, outcome: Outcome): string | undefined {
  const translator = executor.createTranslator({ requestedSession: null });
  if (stdout !== undefined) translator.push({ source: "stdout", number: 1, text: stdout, isTruncated: false });
  if (stderr !== undefined) translator.push({ source: "stderr", number: 1, text: stderr, isTruncated: false });
  return translator.end(outcome).failure?.code;
}

/** The provider's own sentence, by which both CLIs name what it answered; `node lab/matrix.ts` shows that they do. */
function readMessage(answer: Answer): string | undefined {
  const { body } = answer;
  if (typeof body !== "object" || body === null || !("error" in body)) return undefined;
  const { error: inner } = body;
  if (typeof inner !== "object" || inner === null || !("message" in inner)) return undefined;
  return typeof inner.message === "string" ? inner.message : undefined;
}

/** CLI A prints what it gives up on, and repeats the rest for ever: then only its log shows it. Source: docs/contracts/cli-a.md §6. */
function printAsCliA(answer: Answer): Printed {
  const { status } = answer;
  const data = { statusCode: status, responseBody: toText(answer) };
  const message = readMessage(answer) ?? toText(answer);
  if (![408, 409, 429].includes(status) && status < 500) return { stdout: error("APIError", { message, ...data }) };
  const logged = JSON.stringify({ error: { name: "AI_APICallError", ...data, isRetryable: true } });
  return {
    stderr: log(`service=llm providerID=x modelID=m ${SESSION} small=false agent=build mode=primary error=${logged}`),
  };
}

/** CLI B hands a 400 on, names other statuses, and keeps nothing of a 429 and a 500. Source: docs/contracts/cli-b.md §5. */
function printAsCliB(answer: Answer): Printed {
  const { status } = answer;
  const said = readMessage(answer) ?? toText(answer);
  const message =
    status === 400
      ? toText(answer)
      : status === 429
        ? "exceeded retry limit, last status: 429 Too Many Requests"
        : status === 500
          ? "We're currently experiencing high demand, which may cause temporary errors."
          : `unexpected status ${status} Reason: ${said}, url: http://127.0.0.1:1/v1/responses`;
  return { stdout: JSON.stringify({ type: "turn.failed", error: { message } }) };
}

describe.each(ANSWERS)("$name ($status)", (answer) => {
  test(`is ${answer.code} for CLI A`, () => {
    const printed = printAsCliA(answer);
    const outcome =
      printed.stdout === undefined
        ? { exit: { code: null, signal: "SIGKILL" }, wasStopped: true }
        : { exit: { code: 0, signal: null }, wasStopped: false };
    expect([answer.code, ...answer.also]).toContain(codeOf(cliA, printed, outcome));
  });

  test(`is ${answer.cliB} for CLI B`, () => {
    const outcome = { exit: { code: 1, signal: null }, wasStopped: false };
    expect([answer.cliB, ...answer.also]).toContain(codeOf(cliB, printAsCliB(answer), outcome));
  });
});
