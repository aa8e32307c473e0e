import type { FailureDraft, Outcome } from "../executor.ts";
import { toExitFacts, type Fact } from "../rules.ts";
import { AFTER_COMPLETION, FINISH, FINISH_EMPTY, WITHOUT_COMPLETION } from "./facts.ts";
import { classify } from "./failure.ts";

/** What the records of a process come to, kept up to date while they are read. */
export interface Ended {
  /** Type of the last record; "unknown" for one this version does not know, or that was cut off. */
  lastRecord: string | undefined;
  /** Timestamp of the last record, milliseconds. */
  lastRecordMs: number | undefined;
  /** The last step that ended. */
  finish: { readonly reason: string; readonly line: number; readonly hasContent: boolean } | undefined;
  /** The last error, until a step ends with a full answer after it. */
  error: Fact | undefined;
  /** A tool of the last step that asked for a permission. */
  rejectedTool: Fact | undefined;
  /** Help text in place of records. */
  usageText: Fact | undefined;
}

interface EndingInput {
  readonly ended: Ended;
  readonly outcome: Outcome;
  readonly stderr: readonly Fact[];
  readonly requestedSession: string | null;
  readonly nativeSessionId: string | null;
}

/**
 * Decides whether a process completed its turn, and if not, why.
 *
 * Law 4: CLI A exits with 0 for nearly every failure, so the proof is a last record `step_finish` with reason `stop`,
 * and no error after the last answer. Where turnd ended the process itself, neither its exit nor what is missing proves
 * anything; the CLI's own words still do.
 * @returns undefined for a completed turn
 * @see contract sections 0 and 5
 */
export function explainEnding(input: EndingInput): FailureDraft | undefined {
  const { ended, outcome, stderr, requestedSession, nativeSessionId } = input;
  const { exit, wasStopped } = outcome;
  const isProperlyLast = ended.lastRecord === FINISH && ended.finish?.reason === "stop" && ended.error === undefined;
  if (isProperlyLast && exit?.code === 0) return undefined;

  const exits = wasStopped ? [] : toExitFacts(exit, isProperlyLast ? AFTER_COMPLETION : WITHOUT_COMPLETION);
  const failure = classify(isProperlyLast ? exits : [...toRecordFacts(ended), ...exits, ...stderr]);
  if (failure.isProven || wasStopped) return failure;
  if (exit === null) return toLost(failure);
  const hasNoSession = requestedSession !== null && nativeSessionId === null;
  return hasNoSession && exit.code !== null ? toDegraded(failure, requestedSession) : failure;
}

function toRecordFacts({ error, rejectedTool, usageText, finish, lastRecord }: Ended): Fact[] {
  const facts = [error, rejectedTool, usageText].filter((fact) => fact !== undefined);
  if (finish === undefined || finish.reason === "stop" || lastRecord !== FINISH) return facts;
  const { reason, line, hasContent } = finish;
  const name = hasContent ? FINISH : FINISH_EMPTY;
  return [
    ...facts,
    { on: "record", source: "stdout", line, name, code: reason, text: `step_finish, reason ${reason}` },
  ];
}

/** A malformed id, for one, leaves neither a record nor a word. Source: contract section 3. */
function toDegraded(failure: FailureDraft, requested: string): FailureDraft {
  return {
    ...failure,
    code: "resume_degraded",
    message: `CLI A ended before it continued session ${JSON.stringify(requested)}.`,
    rule: "resume-came-to-nothing",
  };
}

function toLost(failure: FailureDraft): FailureDraft {
  return {
    ...failure,
    code: "daemon_stopped",
    message: "Nobody saw how CLI A ended: its keeper is gone.",
    rule: "exit-not-known",
  };
}
