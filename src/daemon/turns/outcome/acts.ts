import type { FailureCode, TurnEndedData } from "../../../protocol/index.ts";
import type { FailureDraft } from "../../executors/contract/executor.ts";
import type { ResourcesExhaustedError } from "../../process/exhausted.ts";
import type { EndedBy } from "../store/turn-file.ts";

/** What turnd itself does to end a turn. */
export type Act = NonNullable<EndedBy>;

/** What an act means for its turn: that it was cancelled, or a failure. */
type ActMeaning = { readonly message: string; readonly remedy?: string } & (
  | { readonly code: FailureCode; readonly cancelledBy?: undefined }
  | { readonly code?: undefined; readonly cancelledBy: NonNullable<TurnEndedData["cancelled_by"]> }
);

/** What each act means for its turn. */
export const ACTS: Readonly<Record<Act, ActMeaning>> = {
  cancel: { cancelledBy: "request", message: "The turn was cancelled by a request." },
  steer: { cancelledBy: "steer", message: "The turn was stopped for one that steers its session." },
  session_deleted: { cancelledBy: "session_deleted", message: "The turn's session was deleted." },
  output_limit: {
    code: "storage_error",
    message:
      "The CLI printed more on stdout or stderr than TURND_MAX_OUTPUT_BYTES allows, or so many lines that their events take four times as much, and was ended.",
    remedy: "ask for less output in one turn or have the operator raise the limit",
  },
  shutdown: { code: "daemon_stopped", message: "turnd was stopped while the turn ran." },
  start_timeout: {
    code: "start_timeout",
    message: "The CLI printed nothing after its start and was ended by TURND_START_TIMEOUT_MS.",
  },
  idle_timeout: {
    code: "idle_timeout",
    message: "The CLI printed nothing new for too long and was ended by the idle time-out.",
  },
  turn_timeout: { code: "turn_timeout", message: "The turn ran longer than its time-out and was ended." },
};

/** The failures that turnd tells of its own accord besides, and when: for people. */
export const OWN_FAILURES: Readonly<Partial<Record<FailureCode, string>>> = {
  executor_unavailable:
    "before a process starts: the CLI, its provider's package or the API it needs of its provider is not there",
  credential_missing: "before a process starts: no key is configured",
  sandbox_unavailable: "before a process starts: the mode needs the CLI's own sandbox, which cannot work here",
  resume_degraded: "before a process starts: the native session's id is none, and the turn is to fail then",
  resources_exhausted:
    "before a process starts: the sandbox has no process, memory or descriptor left for it; " +
    "or the CLI was killed since the turn came to its own limit of memory",
  storage_error: "the home, the turn's files or its log cannot be written",
  unknown: "turnd itself failed",
};

/** Nobody saw the process end. */
export const KEEPER_LOST: FailureDraft = {
  ...ownFailure("daemon_stopped", "The sandbox or the turn's keeper stopped while the turn ran."),
  rule: "turnd/keeper_lost",
};

/** Others have taken what a process needs. */
export function exhaustedFailure({ message }: ResourcesExhaustedError): FailureDraft {
  return ownFailure("resources_exhausted", message);
}

/** The failure an act means. */
export function toDraft(act: Act, code: FailureCode): FailureDraft {
  const { message, remedy } = ACTS[act];
  return { ...ownFailure(code, message, remedy), rule: `turnd/${act}` };
}

/**
 * A failure that turnd itself knows of, without a line of the CLI's to quote.
 *
 * @param remedy - "" where the message itself says what to do
 */
export function ownFailure(code: FailureCode, message: string, remedy?: string): FailureDraft {
  return {
    code,
    message,
    ...(remedy === undefined ? {} : { remedy }),
    evidence: [{ source: "turnd", text: message }],
    isProven: true,
    rule: `turnd/${code}`,
    on: "turnd",
  };
}
