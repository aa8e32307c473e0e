import { describe, expect, test } from "vitest";
import { RULES as RULES_A } from "../../../../../src/turnd/daemon/executors/cli-a/failures/failure.ts";
import { RULES as RULES_B } from "../../../../../src/turnd/daemon/executors/cli-b/failures/failure.ts";
import { decideFailure } from "../../../../../src/turnd/daemon/executors/classification/rules.ts";
import type { Fact } from "../../../../../src/turnd/daemon/executors/contract/failures.ts";
import { KEEPER_LOST, ownFailure } from "../../../../../src/turnd/daemon/turns/outcome/own-failure.ts";
import type { StopReason } from "../../../../../src/turnd/daemon/turns/lifecycle/life.ts";
import { STOP_REASONS, toDraft } from "../../../../../src/turnd/daemon/turns/outcome/stop-reasons.ts";
import { toFailure, toMessage } from "../../../../../src/turnd/daemon/turns/outcome/failure.ts";
import { FAILURE_ADVICE, FailureCode } from "../../../../../src/turnd/protocol/index.ts";

/** What happened; what to do. Nothing else ends a sentence, outside of what others said. */
const ONE_SENTENCE = /^(?:[A-Z]|turnd)[^.!?;\n]*(?:[.?!][^\s.!?;\n][^.!?;\n]*)*; [a-z][^;\n]*\.$/;
const FACT: Fact = { on: "record", source: "stdout", line: 1, text: "Oh. No!", status: 418, name: "x", code: "SIGX" };
const EXIT: Fact = { on: "exit", source: "exit", text: "killed by SIGKILL, somewhere", code: "SIGKILL" };

function plain(message: string): string {
  expect(message.length).toBeLessThan(700);
  return message.replaceAll(/“.*?”/gs, "“”");
}

describe.each([
  { cli: "CLI A", rules: RULES_A },
  { cli: "CLI B", rules: RULES_B },
])("the rules of $cli", ({ rules }) => {
  test.each(rules)("$id describe what happened and what to do in one sentence", ({ message, remedy, code, on }) => {
    const said = typeof message === "string" ? message : message(on === "exit" ? EXIT : FACT);
    expect(said.endsWith(";")).toBe(false);
    const draft = { ...ownFailure(code, said, typeof remedy === "function" ? remedy(FACT) : remedy), isProven: false };
    expect(plain(toMessage(draft))).toMatch(ONE_SENTENCE);
  });
});

test.each(Object.keys(STOP_REASONS) as StopReason[])(
  "the stop reason %s says what happened in one sentence",
  (reason) => {
    const { code, message } = STOP_REASONS[reason];
    if (code === undefined) expect(message).toMatch(/^[A-Z][^.;]*\.$/);
    else expect(plain(toMessage(toDraft(reason, code)))).toMatch(ONE_SENTENCE);
  },
);

test.each(FailureCode.options)("the advice for %s can be read after what happened", (code) => {
  expect(FAILURE_ADVICE[code].remedy).toMatch(/^[a-z][^.;\n]*$/);
  expect(toMessage({ ...KEEPER_LOST, code })).toMatch(ONE_SENTENCE);
});

test("what happened is bounded, on one line, and ends in one full stop", () => {
  expect(toMessage(ownFailure("storage_error", "The disk\nis full.", "make room"))).toBe(
    "The disk is full; make room.",
  );
  expect(toMessage(ownFailure("storage_error", "Set X.", ""))).toBe("Set X.");
  expect(toFailure(ownFailure("unknown", "x".repeat(5_000))).message.length).toBeLessThan(700);
});

test("the CLI's message is cut and quoted", () => {
  const [rule] = RULES_B.filter(({ id }) => id === "unexplained-message");
  if (rule === undefined) throw new Error("no such rule");
  const long = { ...FACT, text: `two\nlines ${"y".repeat(2_000)}` };
  const draft = decideFailure([rule], [long], "Nothing.");
  expect(draft.message).toMatch(/“two lines y+…”$/);
  expect(draft.message.length).toBeLessThan(400);
  expect(draft.evidence[0]?.text).toHaveLength(601);
});
