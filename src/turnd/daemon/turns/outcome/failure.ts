import { FAILURE_ADVICE, type Failure } from "../../../protocol/index.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";

/** Longest text of what happened; messages may quote the system. */
const MAX_MESSAGE_CHARACTERS = 500;

/** Completes a draft with the advice of its code. */
export function toFailure(draft: FailureDraft): Failure {
  const { code, evidence } = draft;
  const { retryable, userAction } = FAILURE_ADVICE[code];
  return { code, message: toMessage(draft), retryable, user_action: userAction, evidence: [...evidence] };
}

/** One sentence a person can act on: what happened, and what to do about it. */
export function toMessage({ code, message, remedy = FAILURE_ADVICE[code].remedy }: FailureDraft): string {
  const whole = message.replaceAll(/\s+/g, " ").trim().replace(/\.$/, "");
  const short = whole.length > MAX_MESSAGE_CHARACTERS ? `${whole.slice(0, MAX_MESSAGE_CHARACTERS)}…` : whole;
  return remedy === "" ? `${short}.` : `${short}; ${remedy}.`;
}
