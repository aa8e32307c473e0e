import type { FailureDraft, Outcome, TranslatorInput } from "../executor.ts";
import { toExitFacts, type Fact } from "../rules.ts";
import { AFTER_COMPLETION, WITHOUT_COMPLETION } from "./facts.ts";
import { classify } from "./failure.ts";
import type { CliBRecord } from "./record.ts";

/** What the records of a process come to, kept up to date while they are read. */
export interface Ended {
  /** Type of the last record; "unknown" for one this version does not know. */
  lastRecord: CliBRecord["type"] | "unknown" | undefined;
  /** A final `error` whose `turn.failed` has not been seen. */
  error: Fact | undefined;
  /** The message of `turn.failed`. */
  failed: Fact | undefined;
  /** The cause of a reconnect notice with nothing after it. */
  retryCause: Fact | undefined;
}

interface EndingInput {
  readonly ended: Ended;
  readonly outcome: Outcome;
  readonly stderr: readonly Fact[];
  readonly input: TranslatorInput;
  readonly nativeSessionId: string | null;
}

/**
 * Decides whether a process completed its turn, and if not, why.
 *
 * Law 4: only exit code 0 and `turn.completed` as the last record are proof of success. Where turnd ended the process
 * itself, neither its exit nor what is missing proves anything; its own words still do.
 * @returns undefined for a completed turn
 * @see contract section 2.5
 */
export function explainEnding({
  ended,
  outcome,
  stderr,
  input,
  nativeSessionId,
}: EndingInput): FailureDraft | undefined {
  const { exit, wasStopped } = outcome;
  const isCompletedLast = ended.lastRecord === "turn.completed";
  if (isCompletedLast && exit?.code === 0) return undefined;

  const said = ended.failed ?? ended.error;
  const records = said ?? (wasStopped ? ended.retryCause : undefined);
  const exits = wasStopped ? [] : toExitFacts(exit, isCompletedLast ? AFTER_COMPLETION : WITHOUT_COMPLETION);
  const failure = classify([...(records === undefined ? [] : [records]), ...exits, ...stderr]);
  if (failure.isProven || wasStopped) return failure;
  if (exit === null) return lostFailure(failure);
  const { requestedSession } = input;
  if (requestedSession !== null && nativeSessionId === null && exit.code !== null && failure.code === "unknown") {
    return {
      ...failure,
      code: "resume_degraded",
      message: `CLI B ended before it continued thread ${JSON.stringify(requestedSession)}.`,
      rule: "resume-came-to-nothing",
    };
  }
  return failure;
}

function lostFailure(failure: FailureDraft): FailureDraft {
  return {
    ...failure,
    code: "daemon_stopped",
    message: "Nobody saw how CLI B ended: its keeper is gone.",
    rule: "exit-not-known",
  };
}
