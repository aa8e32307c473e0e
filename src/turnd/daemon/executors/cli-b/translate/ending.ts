import type { Ending, Outcome, TranslatorInput } from "../../contract/translator.ts";
import { toEvidence, toExitFacts } from "../../classification/rules.ts";
import type { Fact } from "../../contract/failures.ts";
import { AFTER_COMPLETION, WITHOUT_COMPLETION } from "../failures/facts.ts";
import { classify } from "../failures/failure.ts";

/** What the records of a process come to, kept up to date while they are read. */
export interface EndState {
  /** Whether any record was printed that is known: the CLI did start. */
  hasRecords: boolean;
  /** The last `turn.completed`, until the turn fails or another begins: what else comes after it belongs to the same turn. */
  completed: Pick<Fact, "source" | "line" | "text"> | undefined;
  /** A final `error` whose `turn.failed` has not been seen. */
  error: Fact | undefined;
  /** The message of `turn.failed`. */
  failed: Fact | undefined;
  /** The cause of a reconnect notice with nothing after it. */
  retryCause: Fact | undefined;
}

interface EndingInput {
  readonly ended: EndState;
  readonly outcome: Outcome;
  readonly stderr: readonly Fact[];
  readonly input: TranslatorInput;
  readonly nativeSessionId: string | null;
}

/**
 * Decides whether a process completed its turn, and if not, why.
 *
 * Law: success is proved. Only exit code 0 and `turn.completed`, with no failure after it, are proof of success. Where
 * turnd ended the process itself, neither its exit nor what is missing proves anything; its own records still do.
 * @see docs/contracts/cli-b.md §2.5
 */
export function explainEnding(explained: EndingInput): Pick<Ending, "failure" | "proof"> {
  const { ended, outcome, stderr, input, nativeSessionId } = explained;
  const { exit, wasStopped } = outcome;
  // A thread that never said which it is may be another one than the requested.
  const isKnown = input.requestedSession === null || nativeSessionId !== null;
  const completed = isKnown ? ended.completed : undefined;
  const exits = toExitFacts(exit, completed !== undefined ? AFTER_COMPLETION : WITHOUT_COMPLETION);
  // How a process ends that turnd itself ended is turnd's doing.
  if (completed !== undefined && (wasStopped || exit?.code === 0)) {
    const evidence = [completed, ...(wasStopped ? [] : exits)].map(toEvidence);
    return { proof: { evidence, seenIn: "cli-b/0.139.0/text-answer" } };
  }
  const printed = ended.failed ?? ended.error;
  const records = printed ?? (wasStopped ? ended.retryCause : undefined);
  const facts = [...(records === undefined ? [] : [records]), ...(wasStopped ? [] : exits), ...stderr];
  return { failure: classify(facts) };
}
