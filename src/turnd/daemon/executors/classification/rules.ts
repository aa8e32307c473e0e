import { defined } from "../../../../kit/defined.ts";
import type { Fact, FailureRule, Basis, DescribedRule, FailureDraft } from "../contract/failures.ts";
import type { Evidence, TriedRule } from "../../../protocol/index.ts";
import type { Outcome } from "../contract/translator.ts";

/** Quoted text is bounded so that no event grows with what a provider sends. */
const MAX_EVIDENCE_CHARACTERS = 600;
const MAX_QUOTE_CHARACTERS = 300;
/** Patterns are tried on the head of a text: a provider's sentence says what is wrong long before that. */
const MAX_TRIED_CHARACTERS = 20_000;

/**
 * Finds the first rule of an ordered table that a fact satisfies.
 *
 * @param facts - most specific first; within one rule the first fact that matches is the evidence
 * @param unclassified - the message when no rule matches
 */
export function decideFailure(
  rules: readonly FailureRule[],
  facts: readonly Fact[],
  unclassified: string,
): FailureDraft {
  const basis = { rules, facts };
  for (const rule of rules) {
    const fact = facts.find((candidate) => matches(rule, candidate));
    if (fact !== undefined) {
      const remedy = typeof rule.remedy === "function" ? rule.remedy(fact) : rule.remedy;
      return {
        code: rule.code,
        message: typeof rule.message === "string" ? rule.message : rule.message(fact),
        ...defined({ remedy }),
        evidence: [toEvidence(fact)],
        isProven: rule.isProven ?? true,
        rule: rule.id,
        on: rule.on,
        seenIn: rule.seenIn,
        basis,
      };
    }
  }
  return { ...UNCLASSIFIED, message: unclassified, evidence: [], isProven: false, basis };
}

/** The rule for what no rule explains. */
export const UNCLASSIFIED = {
  rule: "unclassified",
  code: "unknown",
  on: "exit",
  seenIn: "docs/design.md §4",
} as const satisfies DescribedRule;

/** A table as it is documented. */
export function describeRules(rules: readonly FailureRule[]): DescribedRule[] {
  return rules.map(({ id, code, on, seenIn }) => ({ rule: id, code, on, seenIn }));
}

/**
 * Tries every rule of a table, each on its own: the first that matches is the one that decided.
 *
 * In deciding order. Whatever matches is `outranked`, since what else decides a turn shows which has won.
 */
export function tryRules({ rules, facts }: Basis): TriedRule[] {
  return rules.map((rule) => {
    const { id, on, code, seenIn } = rule;
    const fact = facts.find((candidate) => matches(rule, candidate));
    const tried = { rule: id, verdict: code, on, seen_in: seenIn };
    return fact === undefined
      ? { ...tried, outcome: "no_match" }
      : { ...tried, outcome: "outranked", evidence: toEvidence(fact) };
  });
}

/** What the provider or the CLI said, for a message: in quotation marks, on one line, of a length that fits a sentence. */
export function quote({ text }: Pick<Fact, "text">): string {
  const line = text.slice(0, MAX_TRIED_CHARACTERS).replace(/\s+/g, " ").trim();
  return `“${line.length > MAX_QUOTE_CHARACTERS ? `${line.slice(0, MAX_QUOTE_CHARACTERS)}…` : line}”`;
}

/**
 * How the process ended, as something rules can look at; nothing when it is not known.
 *
 * @param where - in the CLI's own words, whether a proper last record came before it; rules find it as `name`
 */
export function toExitFacts(exit: Outcome["exit"], where: string): Fact[] {
  if (exit === null) return [];
  const how = exit.signal === null ? `exit code ${exit.code}` : `killed by ${exit.signal}`;
  return [
    {
      on: "exit",
      source: "exit",
      text: `${how}, ${where}`,
      name: where,
      ...(exit.code === null ? {} : { status: exit.code }),
      ...(exit.signal === null ? {} : { code: exit.signal }),
    },
  ];
}

/** Quotes a fact, cut to a bounded length. */
export function toEvidence(fact: Pick<Fact, "source" | "line" | "text" | "words">): Evidence {
  const whole = fact.words ?? fact.text;
  const text = whole.length > MAX_EVIDENCE_CHARACTERS ? `${whole.slice(0, MAX_EVIDENCE_CHARACTERS)}…` : whole;
  return { source: fact.source, ...defined({ line: fact.line }), text };
}

function matches(rule: FailureRule, fact: Fact): boolean {
  if (rule.on !== fact.on) return false;
  if (rule.status !== undefined) {
    if (fact.status === undefined) return false;
    const isListed = typeof rule.status === "function" ? rule.status(fact.status) : rule.status.includes(fact.status);
    if (!isListed) return false;
  }
  return holds(rule.name, fact.name) && holds(rule.field, fact.code) && holds(rule.pattern, fact.text);
}

function holds(pattern: RegExp | undefined, text = ""): boolean {
  return pattern === undefined || pattern.test(text.slice(0, MAX_TRIED_CHARACTERS));
}
