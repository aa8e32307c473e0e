import type { Evidence, FailureCode } from "../../protocol/index.ts";
import type { FailureDraft, Outcome } from "./executor.ts";

/** Something a process left behind that a rule can look at. */
export interface Fact {
  /** Structured field of a record, the way the process ended, or a line of text. Rules look in this order. */
  readonly on: "record" | "exit" | "stderr";
  readonly source: Evidence["source"];
  readonly line?: number;
  /** What is quoted as evidence and what patterns are tried on. */
  readonly text: string;
  /** Structured fields, where the record has them. */
  readonly status?: number;
  readonly name?: string;
  readonly code?: string;
}

/** One row of a failure table. The first row that matches any fact wins. */
export interface FailureRule {
  readonly id: string;
  readonly on: Fact["on"];
  readonly code: FailureCode;
  /** Every condition given must hold. */
  readonly status?: readonly number[] | ((status: number) => boolean);
  readonly name?: RegExp;
  readonly field?: RegExp;
  readonly pattern?: RegExp;
  /** One sentence a person can act on; a function may quote what the fact says. */
  readonly message: string | ((fact: Fact) => string);
  /** `<executor>/<version>/<case>` of the recording it was seen in, or the contract's section when none could be made. */
  readonly seenIn: string;
  /** False for a row that only infers a cause from how the process ended. */
  readonly isProven?: false;
}

/** Quoted text is bounded so that no event grows with what a provider sends. */
const MAX_EVIDENCE_CHARACTERS = 600;

/**
 * Finds the first rule of an ordered table that a fact satisfies.
 *
 * @param facts - most telling first; within one rule the first fact that matches is the evidence
 * @returns undefined when no rule matches
 */
export function decideFailure(rules: readonly FailureRule[], facts: readonly Fact[]): FailureDraft | undefined {
  for (const rule of rules) {
    const fact = facts.find((candidate) => matches(rule, candidate));
    if (fact !== undefined) {
      return {
        code: rule.code,
        message: typeof rule.message === "string" ? rule.message : rule.message(fact),
        evidence: [toEvidence(fact)],
        isProven: rule.isProven ?? true,
        rule: rule.id,
      };
    }
  }
  return undefined;
}

/**
 * How the process ended, as something rules can look at; nothing when nobody knows.
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
export function toEvidence(fact: Pick<Fact, "source" | "line" | "text">): Evidence {
  const text =
    fact.text.length > MAX_EVIDENCE_CHARACTERS ? `${fact.text.slice(0, MAX_EVIDENCE_CHARACTERS)}…` : fact.text;
  return { source: fact.source, ...(fact.line === undefined ? {} : { line: fact.line }), text };
}

function matches(rule: FailureRule, fact: Fact): boolean {
  if (rule.on !== fact.on) return false;
  if (rule.status !== undefined) {
    if (fact.status === undefined) return false;
    const isListed = typeof rule.status === "function" ? rule.status(fact.status) : rule.status.includes(fact.status);
    if (!isListed) return false;
  }
  if (rule.name !== undefined && !rule.name.test(fact.name ?? "")) return false;
  if (rule.field !== undefined && !rule.field.test(fact.code ?? "")) return false;
  return rule.pattern === undefined || rule.pattern.test(fact.text);
}
