import type { DecidedOn, Evidence, FailureCode } from "../../../protocol/index.ts";

/** A rule as it is shown to people. */
export interface DescribedRule {
  readonly rule: string;
  readonly code: FailureCode;
  readonly on: DecidedOn;
  /** `<executor>/<version>/<case>`, or the section it comes from. */
  readonly seenIn: string;
}

/** What a table's decision rests on: enough to try every rule again, to explain how it came about. */
export interface Basis {
  readonly rules: readonly FailureRule[];
  readonly facts: readonly Fact[];
}

/** A failure before the advice of its code is added. */
export interface FailureDraft {
  readonly code: FailureCode;
  /** What happened, one sentence. */
  readonly message: string;
  /** What a person can do about it, to be read after "; ". Absent: what the code's advice says. */
  readonly remedy?: string;
  readonly evidence: readonly Evidence[];
  /** True when the CLI's own words show the cause; false for what is only inferred from how it ended. */
  readonly isProven: boolean;
  /** Id of the rule that decided, and where it looked. */
  readonly rule: string;
  readonly on: DecidedOn;
  readonly seenIn?: string;
  /** The table this came from, and what its rules were tried on; absent for what no table decided. */
  readonly basis?: Basis;
}

/** Something a process left behind that a rule can look at. */
export interface Fact {
  /** Structured field of a record, the way the process ended, or a line of text. Rules look in this order. */
  readonly on: "record" | "exit" | "stderr";
  readonly source: Evidence["source"];
  readonly line?: number;
  /** What patterns are tried on and messages quote. */
  readonly text: string;
  /** The line's own words, where `text` is put together from several: evidence is what stands in the file. */
  readonly words?: string;
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
  /** What happened, one sentence; a function may quote what the fact says. */
  readonly message: string | ((fact: Fact) => string);
  /** What a person can do about it, to be read after "; ". Absent, or undefined for this fact: what the code's advice says. */
  readonly remedy?: string | ((fact: Fact) => string | undefined);
  /** `<executor>/<version>/<case>` of the recording it was seen in, or the contract's section when none could be made. */
  readonly seenIn: string;
  /** False for a row that only infers a cause from how the process ended. */
  readonly isProven?: false;
}
