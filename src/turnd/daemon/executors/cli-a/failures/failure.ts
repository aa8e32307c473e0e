import type { DescribedRule, FailureDraft, Fact, FailureRule } from "../../contract/failures.ts";
import { decideFailure, describeRules, UNCLASSIFIED, quote } from "../../classification/rules.ts";
import { AFTER_COMPLETION, FINISH, LAST_WORDS, REQUEST_FAILED, START_UP, WITHOUT_COMPLETION } from "./facts.ts";
import { LOG_ANSWER_RULES } from "./provider-rules.ts";
import { RECORD_RULES } from "./record-rules.ts";
import { STDERR_RULES } from "./stderr-rules.ts";

/** How the process ended, where only that decides. */
const EXIT_RULES: readonly FailureRule[] = [
  {
    id: "exit-after-completion",
    on: "exit",
    name: new RegExp(`^${AFTER_COMPLETION}$`),
    code: "crashed",
    message: (fact) => `CLI A finished the turn and then ended abnormally (${fact.text}).`,
    seenIn: "docs/design.md §4",
  },
  {
    id: "exit-fault",
    on: "exit",
    field: /^SIG(?:SEGV|ABRT|BUS|ILL|TRAP|FPE|SYS)$/,
    code: "crashed",
    message: (fact) => `CLI A crashed (${fact.code}).`,
    seenIn: "cli-a/1.14.34/segmentation-fault",
  },
  {
    id: "exit-signal",
    on: "exit",
    field: /^SIG/,
    code: "crashed",
    message: (fact) => `Something outside turnd ended CLI A (${fact.code}).`,
    seenIn: "cli-a/1.3.2/killed-from-outside",
  },
  {
    // A shell or a wrapper around it says so with a number; 137 is SIGKILL, which the kernel sends when memory runs out.
    id: "exit-signal-number",
    on: "exit",
    status: (code) => code > 128 && code < 160,
    code: "crashed",
    message: (fact) => `CLI A was ended by signal ${(fact.status ?? 128) - 128} (exit code ${fact.status}).`,
    seenIn: "docs/design.md §4",
  },
];

/** What is left when nothing shows the cause. */
const FALLBACK_RULES: readonly FailureRule[] = [
  {
    id: "unexplained-message",
    on: "record",
    name: new RegExp(`^(?!${FINISH})`),
    code: "unknown",
    message: (fact) => `CLI A failed: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-a.md §5",
    isProven: false,
  },
  {
    // Where the log has neither status nor code, and the provider's words say nothing that is known. What cannot be
    // reached has a name of its own.
    id: "log-request-failed",
    on: "stderr",
    name: new RegExp(`^${REQUEST_FAILED}$`),
    pattern: /^AI_APICallError\b/,
    code: "provider_error",
    message: (fact) => `The request to the provider failed: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-a.md §6.1",
  },
  {
    id: "unexplained-error",
    on: "stderr",
    name: new RegExp(`^(?:${START_UP}|${LAST_WORDS})`),
    // Bun prints "error: " of downloads that are not needed.
    pattern: /^(?:Uncaught |Unhandled )?(?:[A-Z]\w*)?(?:Error|Exception)\b/,
    code: "crashed",
    message: (fact) => `CLI A ended abnormally: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-a.md §5.2",
    isProven: false,
  },
  {
    id: "unexplained-exit",
    on: "exit",
    status: (code) => code !== 0,
    code: "crashed",
    message: (fact) => `CLI A ended abnormally and did not say why (${fact.text}).`,
    seenIn: "docs/contracts/cli-a.md §5.2",
    isProven: false,
  },
  {
    id: "finish-unexplained",
    on: "record",
    name: new RegExp(`^${FINISH}`),
    code: "output_incomplete",
    message: (fact) => `CLI A stopped after a step that ended with "${fact.code}", without a final answer.`,
    seenIn: "cli-a/1.3.2/concurrent-run-stops-early",
    isProven: false,
  },
  {
    id: "incomplete",
    on: "exit",
    name: new RegExp(`^${WITHOUT_COMPLETION}$`),
    status: [0],
    code: "output_incomplete",
    message: "CLI A ended with exit code 0 but its last record is no finished answer.",
    seenIn: "cli-a/1.14.34/tail-lost",
    isProven: false,
  },
];

/** The failure table, in deciding order: what records say, how the process ended, what stderr says. */
export const RULES: readonly FailureRule[] = [
  ...RECORD_RULES,
  ...EXIT_RULES,
  ...STDERR_RULES,
  ...LOG_ANSWER_RULES,
  ...FALLBACK_RULES,
];

/** Decides why a process did not complete its turn; facts are looked at in the order of the table. */
export function classify(facts: readonly Fact[]): FailureDraft {
  return decideFailure(RULES, facts, "CLI A left nothing behind that shows why it did not complete the turn.");
}

/** Where the table only guesses why a resume failed, that the session never answered says more. */
export function explainLostResume(requested: string, facts: readonly Fact[]): FailureDraft {
  const message = `CLI A ended before it continued session ${JSON.stringify(requested)}.`;
  return decideFailure([{ ...RESUME_FAILED, message }, ...RULES], facts, message);
}

const RESUME_FAILED: FailureRule = {
  id: "resume-failed",
  on: "exit",
  code: "resume_degraded",
  message: "CLI A ended before it continued the session.",
  seenIn: "cli-a/1.3.2/resume-malformed-id",
  isProven: false,
};

/** Decided while the CLI still runs: it must not go on. */
export const SESSION_MISMATCH = {
  rule: "session-mismatch",
  code: "resume_degraded",
  on: "record",
  seenIn: "cli-a/1.3.2/resume-becomes-fork",
} as const;
export const SERVER_RESUME_REFUSED = {
  rule: "server-resume-refused",
  code: "resume_degraded",
  on: "record",
  seenIn: "cli-a-server/1.18.33/resume-unknown-session",
} as const;
export const AIMLESS_STEPS = {
  rule: "aimless-steps",
  code: "provider_error",
  on: "record",
  seenIn: "cli-a/1.3.2/aimless-steps",
} as const;
export const ENDLESS_COMPACTION = {
  rule: "endless-compaction",
  code: "context_overflow",
  on: "stderr",
  seenIn: "cli-a/1.18.33/endless-compaction",
} as const;

/** Every rule of CLI A, in deciding order. */
export const FAILURE_RULES: readonly DescribedRule[] = [
  SESSION_MISMATCH,
  SERVER_RESUME_REFUSED,
  AIMLESS_STEPS,
  ENDLESS_COMPACTION,
  ...describeRules([RESUME_FAILED, ...RULES]),
  UNCLASSIFIED,
];
