import { FAILURE_ADVICE, FailureCode, UserAction, type Failure, type Tolerant } from "../../../turnd/protocol/index.ts";
import type { FailureType, RunError } from "../../protocol/runs.ts";

/** Which of the service's own failures may go away by themselves. */
const RETRYABLE: ReadonlySet<FailureType> = new Set(["executor_unreachable", "sandbox_limit", "sandbox_start_failed"]);

/** A failure of the service's own, or one of turnd's without evidence. */
export function runError(type: FailureType, message: string): RunError {
  const turnd = FailureCode.safeParse(type);
  if (turnd.success) {
    const { retryable, userAction } = FAILURE_ADVICE[turnd.data];
    return { type, message, retryable, user_action: userAction };
  }
  const retryable = RETRYABLE.has(type);
  return { type, message, retryable, user_action: retryable ? "retry" : "operator" };
}

/** turnd's answer about a turn that failed. */
export function fromTurnd({ code, message, retryable, user_action: action }: Tolerant<Failure>): RunError {
  const user_action = UserAction.safeParse(action).data ?? "operator";
  const known = FailureCode.safeParse(code);
  if (known.success) return { type: known.data, message, retryable, user_action };
  // Of a newer turnd.
  return { type: "unknown", message: `${code}: ${message}`, retryable, user_action };
}

/** Ends a run as failed, from wherever in an attempt it is found out. */
export class RunFailure extends Error {
  readonly error: RunError;

  constructor(type: FailureType, message: string) {
    super(message);
    this.name = "RunFailure";
    this.error = runError(type, message);
  }
}

/** The run was cancelled while no turn of it could be under way. */
export class CancelledBeforeTurn extends Error {
  constructor() {
    super("cancelled before its turn began");
    this.name = "CancelledBeforeTurn";
  }
}

/** Another attempt owns the run, or it has ended: this one stops without an error. Law: one owner writes. */
export class OwnershipLost extends Error {
  constructor(runId: string) {
    super(`run ${runId} is another's now`);
    this.name = "OwnershipLost";
  }
}
