import type { FailureDraft } from "../executor.ts";
import { decideFailure, type Fact, type FailureRule } from "../rules.ts";
import { AFTER_COMPLETION } from "./facts.ts";
import { PROVIDER_RULES } from "./provider-rules.ts";
import { quote, STDERR_RULES } from "./stderr-rules.ts";

/** How the process ended, where that alone decides. */
const EXIT_RULES: readonly FailureRule[] = [
  {
    id: "stdout-disk-full",
    on: "stderr",
    pattern: /panicked at [^]*No space left on device/,
    code: "storage_error",
    message: "The disk that holds the turn's output is full; CLI B could not print.",
    seenIn: "cli-b/0.139.0/panic-stdout-disk-full",
  },
  {
    id: "exit-after-completion",
    on: "exit",
    name: new RegExp(`^${AFTER_COMPLETION}$`),
    code: "crashed",
    message: (fact) => `CLI B finished the turn and then ended abnormally (${fact.text}).`,
    seenIn: "DESIGN section 6",
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
    id: "exit-panic",
    on: "exit",
    status: [101],
    code: "crashed",
    message: "CLI B panicked (exit code 101).",
    seenIn: "cli-b/0.139.0/panic-reader-gone",
  },
];

/** What is left when nobody says why. */
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
    seenIn: "contract section 0 [20e]",
    isProven: false,
  },
  {
    id: "unexplained-message",
    on: "record",
    code: "unknown",
    message: (fact) => `CLI B failed: ${quote(fact)}`,
    seenIn: "contract section 5 [10o4]",
    isProven: false,
  },
  {
    id: "unexplained-exit",
    on: "exit",
    code: "unknown",
    message: (fact) => `CLI B ended without saying why (${fact.text}).`,
    seenIn: "contract section 2.5",
    isProven: false,
  },
];

/** The failure table, in deciding order: what the provider answered, how the process ended, what stderr says. */
export const RULES: readonly FailureRule[] = [...PROVIDER_RULES, ...EXIT_RULES, ...STDERR_RULES, ...FALLBACK_RULES];

/** Decides why a process did not complete its turn; facts are looked at in the order of the table. */
export function classify(facts: readonly Fact[]): FailureDraft {
  return (
    decideFailure(RULES, facts) ?? {
      code: "unknown",
      message: "Nothing CLI B left behind shows how the turn ended.",
      evidence: [],
      isProven: false,
      rule: "nothing-known",
    }
  );
}
