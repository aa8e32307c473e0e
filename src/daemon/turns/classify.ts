import {
  FAILURE_ADVICE,
  type Exit,
  type Failure,
  type FailureCode,
  type TurnEndedData,
  type Usage,
} from "../../protocol/index.ts";
import type { Ending, FailureDraft } from "../executors/executor.ts";
import type { EndedBy } from "./turn-file.ts";

/** Everything that decides how a turn is told to have ended. */
export interface TurnFacts {
  /** What turnd did. */
  readonly endedBy: EndedBy;
  /** What the process left behind; undefined when none ran. */
  readonly ending?: Ending;
  /** Decided by turnd before a process started, or while it ran: the turn failed with this. */
  readonly halt?: FailureDraft;
  /** null when nobody saw the process end. */
  readonly exit: Exit | null;
  readonly isDegraded: boolean;
}

/** The part of `turn.ended` that says what became of the turn. */
export type Conclusion = Omit<TurnEndedData, "counts" | "duration_ms" | "digest">;

const CANCELLED = { cancel: "request", steer: "steer", session_deleted: "session_deleted" } as const;

/**
 * Decides how a turn ended: what turnd itself did, then what the CLI's own words show (laws 3 and 4).
 *
 * Proof of completion outweighs a watchdog or a shutdown that came too late; a proven cause outweighs the watchdog that
 * noticed it. A cancel is a cancel.
 */
export function concludeTurn(facts: TurnFacts): Conclusion {
  const common = {
    output: facts.ending?.output ?? null,
    ...(facts.ending?.nativeSessionId ? { native_session_id: facts.ending.nativeSessionId } : {}),
    resumed: facts.ending?.isResumed ?? false,
    degraded: facts.isDegraded,
    ...usageOf(facts.ending),
    ...(facts.exit === null ? {} : { exit: facts.exit }),
  };
  const { endedBy } = facts;
  if (endedBy === "cancel" || endedBy === "steer" || endedBy === "session_deleted") {
    return { status: "cancelled", cancelled_by: CANCELLED[endedBy], ...common };
  }
  const draft = facts.halt ?? decide(endedBy, facts);
  return draft === undefined
    ? { status: "completed", ...common }
    : { status: "failed", failure: toFailure(draft), ...common };
}

/** Completes a draft with the advice of its code. */
export function toFailure({ code, message, evidence }: FailureDraft): Failure {
  const { retryable, userAction } = FAILURE_ADVICE[code];
  return { code, message, retryable, user_action: userAction, evidence: [...evidence] };
}

/** A failure that turnd itself knows of, without a line of the CLI's to quote. */
export function ownFailure(code: FailureCode, message: string): FailureDraft {
  return { code, message, evidence: [{ source: "turnd", text: message }], isProven: true, rule: `turnd/${code}` };
}

function decide(
  endedBy: Exclude<EndedBy, keyof typeof CANCELLED>,
  { ending, exit }: TurnFacts,
): FailureDraft | undefined {
  if (endedBy === "output_limit") {
    return ownFailure("storage_error", "The CLI printed more than TURND_MAX_OUTPUT_BYTES allows and was ended.");
  }
  const isComplete = ending !== undefined && ending.failure === undefined && exit?.code === 0;
  if (isComplete) return undefined;
  switch (endedBy) {
    case null:
      return exit === null && !ending?.failure?.isProven
        ? ownFailure("daemon_stopped", "The sandbox or the turn's keeper stopped while the turn ran.")
        : ending?.failure;
    case "shutdown":
      return ownFailure("daemon_stopped", "turnd was stopped while the turn ran.");
    case "start_timeout":
    case "idle_timeout":
    case "turn_timeout":
      return ending?.failure?.isProven === true ? ending.failure : ownFailure(endedBy, WATCHDOG_MESSAGE[endedBy]);
  }
}

const WATCHDOG_MESSAGE = {
  start_timeout: "The CLI printed nothing after its start; it was ended by TURND_START_TIMEOUT_MS.",
  idle_timeout: "The CLI printed nothing new for too long; it was ended by the idle time-out.",
  turn_timeout: "The turn ran longer than its time-out and was ended.",
} as const;

function usageOf(ending: Ending | undefined): { usage?: Usage; cost_usd?: number } {
  return {
    ...(ending?.usage === undefined ? {} : { usage: ending.usage }),
    ...(ending?.costUsd === undefined ? {} : { cost_usd: ending.costUsd }),
  };
}
