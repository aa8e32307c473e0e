import type { DescribedRule, FailureDraft, Fact, FailureRule } from "../../contract/failures.ts";
import { decideFailure, describeRules, UNCLASSIFIED, quote } from "../../classification/rules.ts";
import { AFTER_COMPLETION, isOfCompaction, LAST_LOGGED } from "./facts.ts";
import { readPanicReason } from "../records/panic.ts";
import { PROVIDER_RULES } from "./provider-rules.ts";
import { STDERR_RULES } from "./stderr-rules.ts";
import { TYPED_RULES } from "./typed-rules.ts";

/** How the process ended, where only that decides. */
const EXIT_RULES: readonly FailureRule[] = [
  {
    id: "stdout-disk-full",
    on: "stderr",
    pattern: /panicked at [^]{0,2000}No space left on device/,
    code: "storage_error",
    message: "CLI B could not print: the disk that holds the turn's output is full.",
    seenIn: "cli-b/0.139.0/panic-stdout-disk-full",
  },
  {
    id: "exit-after-completion",
    on: "exit",
    name: new RegExp(`^${AFTER_COMPLETION}$`),
    code: "crashed",
    message: (fact) => `CLI B finished the turn and then ended abnormally (${fact.text}).`,
    seenIn: "docs/design.md §4",
  },
  {
    id: "exit-fault",
    on: "exit",
    field: /^SIG(?:SEGV|ABRT|BUS|ILL|TRAP|FPE|SYS)$/,
    code: "crashed",
    message: (fact) => `CLI B crashed (${fact.code}).`,
    seenIn: "cli-b/0.139.0/segmentation-fault",
  },
  {
    id: "exit-signal",
    on: "exit",
    field: /^SIG/,
    code: "crashed",
    message: (fact) => `Something outside turnd ended CLI B (${fact.code}).`,
    seenIn: "cli-b/0.139.0/killed-from-outside",
  },
  {
    // A shell or a wrapper around it says so with a number; 137 is SIGKILL, which the kernel sends when memory runs out.
    id: "exit-signal-number",
    on: "exit",
    status: (code) => code > 128 && code < 160,
    code: "crashed",
    message: (fact) => `CLI B was ended by signal ${(fact.status ?? 128) - 128} (exit code ${fact.status}).`,
    seenIn: "docs/design.md §4",
  },
  {
    id: "panic",
    on: "stderr",
    pattern: /^thread '.*panicked at/,
    code: "crashed",
    message: (fact) => `CLI B panicked: ${quote({ text: readPanicReason(fact.text) })}`,
    seenIn: "cli-b/0.139.0/panic-reader-gone",
  },
  {
    id: "exit-panic",
    on: "exit",
    status: [101],
    code: "crashed",
    message: "CLI B panicked (exit code 101).",
    seenIn: "cli-b/0.139.0/panic-reader-gone",
  },
];

/** What is left when nothing shows the cause. */
const FALLBACK_RULES: readonly FailureRule[] = [
  {
    id: "arguments-exit",
    on: "exit",
    status: [2],
    code: "invalid_request",
    message: "CLI B does not take these arguments (exit code 2).",
    seenIn: "cli-b/0.139.0/unknown-flag",
    isProven: false,
  },
  {
    id: "incomplete",
    on: "exit",
    status: [0],
    code: "output_incomplete",
    message: "CLI B ended with exit code 0 but without turn.completed.",
    seenIn: "docs/contracts/cli-b.md §0",
    isProven: false,
  },
  {
    // What the CLI says of itself has rules; a sentence that is in none of them is the body of a 400, handed on bare.
    id: "unexplained-message",
    on: "record",
    code: "invalid_request",
    message: (fact) =>
      `CLI B failed with words that are none of its own, as it hands on a refused request: ${quote(fact)}`,
    seenIn: "cli-b/0.169.0/bad-request-odd",
    isProven: false,
  },
  {
    id: "unexplained-error",
    on: "stderr",
    name: new RegExp(`^(?!${LAST_LOGGED}$)`),
    pattern: /^(?:fatal |uncaught |unhandled )?(?:\w*Error|\w*Exception|error)\b/i,
    code: "crashed",
    message: (fact) => `CLI B ended abnormally: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-b.md §6",
    isProven: false,
  },
  {
    // Such as the client of an MCP server that died.
    id: "last-log-line",
    on: "stderr",
    name: new RegExp(`^${LAST_LOGGED}$`),
    code: "crashed",
    message: (fact) => `CLI B ended abnormally, and the last that it logged is ${quote(fact)}`,
    seenIn: "docs/contracts/cli-b.md §2.4",
    isProven: false,
  },
  {
    id: "unexplained-exit",
    on: "exit",
    code: "crashed",
    message: (fact) => `CLI B ended abnormally and did not say why (${fact.text}).`,
    seenIn: "docs/contracts/cli-b.md §2.5",
    isProven: false,
  },
];

/** The failure table, in deciding order: what the server calls it, what the provider answered, how the process ended, what stderr says. */
export const RULES: readonly FailureRule[] = [
  ...TYPED_RULES,
  ...PROVIDER_RULES,
  ...EXIT_RULES,
  ...STDERR_RULES,
  ...FALLBACK_RULES,
];

/** Decides why a process did not complete its turn; facts are looked at in the order of the table. */
export function classify(facts: readonly Fact[]): FailureDraft {
  const draft = decideFailure(RULES, facts, "Nothing CLI B left behind shows how the turn ended.");
  return draft.on === "record" && facts.some(isOfCompaction) ? duringCompaction(draft) : draft;
}

/** What a session that is not yet to be compacted does not come to. */
const HELPED_BY_A_NEW_SESSION: ReadonlySet<FailureDraft["code"]> = new Set([
  "context_overflow",
  "invalid_request",
  "content_blocked",
  "output_limit",
  "crashed",
  "provider_error",
  "unknown",
]);

function duringCompaction(draft: FailureDraft): FailureDraft {
  const message = `Compacting the conversation failed: ${draft.message}`;
  return HELPED_BY_A_NEW_SESSION.has(draft.code)
    ? { ...draft, message, remedy: "start a new session, whose conversation need not be compacted" }
    : { ...draft, message };
}

/** Decided while the CLI still runs: it must not go on. */
export const SESSION_MISMATCH = {
  rule: "session-mismatch",
  code: "resume_degraded",
  on: "record",
  seenIn: "cli-b/0.139.0/resume-malformed-id",
} as const;

/** Of a server that was asked to open a thread again. */
export const SERVER_RESUME_REFUSED = {
  rule: "server-resume-refused",
  code: "resume_degraded",
  on: "record",
  seenIn: "docs/contracts/cli-b-app-server.md §4.1",
} as const;

/** Every rule of CLI B, in deciding order. */
export const FAILURE_RULES: readonly DescribedRule[] = [
  SESSION_MISMATCH,
  SERVER_RESUME_REFUSED,
  ...describeRules(RULES),
  UNCLASSIFIED,
];
