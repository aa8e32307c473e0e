import {
  isProblemCode,
  PROBLEM_STATUS,
  ProblemError,
  type NewerWord,
  type ProblemCode,
  type ProblemExtras,
} from "../protocol/index.ts";

/** turnd did not answer: no process listens, the connection broke, it answered 5xx, or it was silent for too long. */
export class TurndUnreachable extends Error {
  /** What the answer asks to wait before the next try, where it does. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, cause?: unknown, retryAfterMs?: number) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "TurndUnreachable";
    this.retryAfterMs = retryAfterMs;
  }
}

/** The answer does not follow turnd's contract: a gap in a turn's events, or a body of another shape. */
export class TurndProtocolError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "TurndProtocolError";
  }
}

/**
 * Why a turn's events cannot be continued.
 *
 * - `gap`: an event was left out or sent twice, also when it was asked for again.
 * - `changed`: the events' digest is not that of the turn: some of them were others when they were read.
 * - `shorter`: the turn has fewer events than were read.
 * - `removed`: the turn, or its session, was deleted since.
 */
export type HistoryFault = "gap" | "changed" | "shorter" | "removed";

/** What was read of a turn and what turnd has are not one history: begin again at the beginning, or ask for the result. */
export class TurndHistoryError extends TurndProtocolError {
  readonly reason: HistoryFault;
  /** The last event that was read. */
  readonly afterSeq: number;

  constructor(reason: HistoryFault, afterSeq: number, message: string, cause?: unknown) {
    super(message, cause);
    this.name = "TurndHistoryError";
    this.reason = reason;
    this.afterSeq = afterSeq;
  }
}

/** A refusal as it was answered: with a code of this version's list, or with one that a newer turnd has added. */
export class AnsweredProblem extends ProblemError {
  override readonly code: ProblemCode | NewerWord;
  override readonly status: number;
  /** What the answer asks for; not what this version would. */
  override readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ProblemCode | NewerWord,
    message: string,
    answer: {
      readonly status: number;
      readonly extras: Partial<ProblemExtras>;
      readonly retryAfterSeconds: number | undefined;
    },
  ) {
    super(isProblemCode(code) ? code : "internal_error", message, answer.extras);
    this.code = code;
    this.retryAfterSeconds = answer.retryAfterSeconds;
    this.status = isProblemCode(code) ? PROBLEM_STATUS[code] : answer.status;
  }
}
