import {
  decideFailure,
  describeRules,
  UNCLASSIFIED,
  quote,
} from "../../src/turnd/daemon/executors/classification/rules.ts";
import type {
  Fact,
  FailureRule,
  DescribedRule,
  FailureDraft,
} from "../../src/turnd/daemon/executors/contract/failures.ts";

const RULES: readonly FailureRule[] = [
  {
    id: "key-refused",
    on: "record",
    pattern: /answered 401/,
    code: "auth_failed",
    message: "The provider refused Toy's key (401).",
    seenIn: "toy/1.0.0/key-refused",
  },
  {
    id: "session-unknown",
    on: "record",
    pattern: /^no session /,
    code: "resume_degraded",
    message: (fact) => `Toy does not know the session: ${quote(fact)}`,
    seenIn: "test/turnd/daemon/turns/third-cli.test.ts",
  },
  {
    id: "config-invalid",
    on: "stderr",
    pattern: /toy\.conf/,
    code: "config_invalid",
    message: (fact) => `Toy refuses its configuration: ${quote(fact)}`,
    seenIn: "test/turnd/daemon/turns/third-cli.test.ts",
  },
  {
    id: "unexplained-exit",
    on: "exit",
    code: "crashed",
    message: (fact) => `Toy ended abnormally (${fact.text}).`,
    seenIn: "test/turnd/daemon/turns/third-cli.test.ts",
    isProven: false,
  },
];

export const FAILURE_RULES: readonly DescribedRule[] = [...describeRules(RULES), UNCLASSIFIED];

/** Decides why a process did not complete its turn. */
export function classify(facts: readonly Fact[]): FailureDraft {
  return decideFailure(RULES, facts, "Nothing Toy left behind shows how the turn ended.");
}
