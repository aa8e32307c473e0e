import type { Ending, Outcome } from "../../contract/translator.ts";
import { toEvidence, toExitFacts } from "../../classification/rules.ts";
import type { Fact } from "../../contract/failures.ts";
import { AFTER_COMPLETION, FINISH, FINISH_EMPTY, WITHOUT_COMPLETION } from "../failures/facts.ts";
import { classify, explainLostResume } from "../failures/failure.ts";

/** What the records of a process come to, kept up to date while they are read. */
export interface EndState {
  /** Type of the last record; "unknown" for one this version does not know, or that was cut off. */
  lastRecord: string | undefined;
  /** Timestamp of the last record, milliseconds. */
  lastRecordMs: number | undefined;
  /** The last step that ended. */
  finish: { readonly reason: string; readonly line: number; readonly hasContent: boolean } | undefined;
  /** The last error, until a step ends with a full answer after it. */
  error: Fact | undefined;
  /** Where the log has the cause of the last error. */
  errorRef: string | undefined;
  /** Whether any error was printed: later versions then exit with 1, whatever became of it. */
  hasErrors: boolean;
  /** A tool of the last step that asked for a permission. */
  rejectedTool: Fact | undefined;
  /** Help text in place of records. */
  usageText: Fact | undefined;
}

/** Nothing was printed yet. */
export function createEnded(): EndState {
  return {
    lastRecord: undefined,
    lastRecordMs: undefined,
    finish: undefined,
    error: undefined,
    errorRef: undefined,
    hasErrors: false,
    rejectedTool: undefined,
    usageText: undefined,
  };
}

interface EndingInput {
  readonly ended: EndState;
  readonly outcome: Outcome;
  readonly stderr: readonly Fact[];
  readonly requestedSession: string | null;
  readonly nativeSessionId: string | null;
  /** It has asked for an answer that it has not printed: what looks like the last step is not. */
  readonly isBehind: boolean;
}

/** Whether the last record is what a finished answer ends with. */
export function isProperlyFinished({ lastRecord, finish, error }: EndState): boolean {
  return lastRecord === FINISH && finish?.reason === "stop" && error === undefined;
}

/**
 * Decides whether a process completed its turn, and if not, why.
 *
 * Law: success is proved. CLI A exits with 0 for nearly every failure, so the proof is a last record `step_finish` with
 * reason `stop`, and no error after the last answer. Later versions exit with 1 after an error that was got over, too.
 * Where turnd ended the process itself, neither its exit nor what is missing proves anything; the CLI's own words still
 * do.
 * @see docs/contracts/cli-a.md §0, §5
 */
export function explainEnding(input: EndingInput): Pick<Ending, "failure" | "proof"> {
  const { ended, outcome, stderr, requestedSession, nativeSessionId, isBehind } = input;
  const { exit, wasStopped } = outcome;
  const { finish } = ended;
  // Source: cli-a/1.18.33/context-overflow-recovered.
  const successCode = ended.hasErrors && exit?.code === 1 ? 1 : 0;
  const isProperlyLast = isProperlyFinished(ended);
  const exits = toExitFacts(exit, isProperlyLast ? AFTER_COMPLETION : WITHOUT_COMPLETION);
  // How a process ends that turnd itself ended is turnd's doing.
  if (isProperlyLast && finish !== undefined && wasStopped && !isBehind) {
    return { proof: { evidence: [toEvidence(toFinishFact(finish))], seenIn: "cli-a/1.3.2/text-answer" } };
  }
  if (isProperlyLast && finish !== undefined && exit?.code === successCode) {
    const evidence = [toFinishFact(finish), ...exits].map(toEvidence);
    return successCode === 0
      ? { proof: { evidence, seenIn: "cli-a/1.3.2/text-answer" } }
      : { proof: { evidence, exitCode: 1, seenIn: "cli-a/1.18.33/context-overflow-recovered" } };
  }
  const recorded = isProperlyLast ? [] : toRecordFacts(ended);
  const facts = [...recorded, ...(wasStopped ? [] : exits), ...(isProperlyLast ? [] : stderr)];
  const failure = classify(facts);
  if (failure.isProven || wasStopped || exit?.code !== 0) return { failure };
  if (requestedSession === null || nativeSessionId !== null) return { failure };
  // A session that it does not know leaves neither a record nor a word, and no failure. Any other end may have a cause that
  // passes, and the session is kept. Source: docs/contracts/cli-a.md §3.
  return { failure: explainLostResume(requestedSession, facts) };
}

function toRecordFacts({ error, rejectedTool, usageText, finish, lastRecord }: EndState): Fact[] {
  const facts = [error, rejectedTool, usageText].filter((fact) => fact !== undefined);
  return finish === undefined || finish.reason === "stop" || lastRecord !== FINISH
    ? facts
    : [...facts, toFinishFact(finish)];
}

function toFinishFact({ reason, line, hasContent }: NonNullable<EndState["finish"]>): Fact {
  const name = hasContent ? FINISH : FINISH_EMPTY;
  const words = `"reason":${JSON.stringify(reason)}`;
  return { on: "record", source: "stdout", line, name, code: reason, text: `step_finish, reason ${reason}`, words };
}

/** What the warning says where records were taken from the store. */
export function describeRecovered(records: number): string {
  return `The CLI ended before it had printed ${records} ${records === 1 ? "record" : "records"}; they were taken from its own store of the session.`;
}
