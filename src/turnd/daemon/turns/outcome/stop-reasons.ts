import type { FailureCode, TurnEndedData } from "../../../protocol/index.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import type { StopReason } from "../lifecycle/life.ts";
import { ownFailure } from "./own-failure.ts";

/** What a stop reason means for its turn: that it was cancelled, or a failure. */
type StopMeaning = { readonly message: string; readonly remedy?: string } & (
  | { readonly code: FailureCode; readonly cancelledBy?: undefined }
  | { readonly code?: undefined; readonly cancelledBy: NonNullable<TurnEndedData["cancelled_by"]> }
);

/** What each stop reason means for its turn. */
export const STOP_REASONS: Readonly<Record<StopReason, StopMeaning>> = {
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
    message:
      "The CLI printed nothing on stdout after its start, although no answer of the model was awaited, and was ended by TURND_START_TIMEOUT_MS.",
  },
  idle_timeout: {
    code: "idle_timeout",
    message: "The CLI printed nothing new for too long and was ended by the idle timeout.",
  },
  exit_timeout: {
    code: "output_incomplete",
    message: "The CLI went on running after the record that completes a turn and was ended by TURND_EXIT_TIMEOUT_MS.",
  },
  turn_timeout: { code: "turn_timeout", message: "The turn ran longer than its timeout and was ended." },
};

/**
 * The failure a stop reason means.
 *
 * @param lastSeen - what the CLI printed last, where that says why it was silent
 */
export function toDraft(reason: StopReason, code: FailureCode, lastSeen?: string): FailureDraft {
  const { message: said, remedy } = STOP_REASONS[reason];
  const message = lastSeen === undefined ? said : `${said.slice(0, -1)}, and the last that it printed is ${lastSeen}.`;
  return { ...ownFailure(code, message, remedy), rule: `turnd/${reason}` };
}
