import { warningEvent, type Native } from "../../../../protocol/index.ts";
import type { FailureDraft } from "../../contract/failures.ts";
import type { TranslatedEvent } from "../../contract/translator.ts";
import { toEvidence } from "../../classification/rules.ts";
import { SESSION_MISMATCH } from "../failures/failure.ts";
import type { SessionSign } from "./stderr.ts";

/** Which native session a process works in: every record and parts of the log name one. */
export interface SessionGate {
  /** The first record decides whether a resume is one. With a halt, nothing of the process may be passed on. */
  admitRecord(
    sessionId: string,
    native: Native,
  ): { readonly events: readonly TranslatedEvent[]; readonly halt?: FailureDraft };
  /** The log names a session before the model's first byte: a turn that is stopped before it stays resumable. */
  admitSign(sign: SessionSign, native: Native): readonly TranslatedEvent[];
  id(): string | null;
  /** The requested one as long as no other has come back. */
  expectedId(): string | null;
  isResumed(): boolean;
}

/**
 * Creates the gate of one process.
 *
 * @param requested - the id a resume asked for, otherwise null
 */
export function createSessionGate(requested: string | null): SessionGate {
  let bound: string | null = null;
  let hasRecords = false;
  let hasOtherSessions = false;

  function bind(sessionId: string, native: Native): TranslatedEvent[] {
    bound = sessionId;
    const data = { native_session_id: sessionId, resumed: requested !== null };
    return [{ type: "session.bound", data, native }];
  }

  return {
    admitRecord(sessionId, native) {
      const isFirst = !hasRecords;
      hasRecords = true;
      if (isFirst && requested !== null && !isSameId(requested, sessionId)) {
        bound = sessionId;
        return { events: [], halt: mismatchFailure(requested, sessionId, native.line) };
      }
      if (bound === null) return { events: bind(sessionId, native) };
      if (isSameId(bound, sessionId) || hasOtherSessions) return { events: [] };
      hasOtherSessions = true;
      const message = `the CLI printed a record of another session: ${sessionId}`;
      return { events: [{ ...warningEvent("other_session", message), native }] };
    },
    admitSign({ sessionId, isNew }, native) {
      if (bound !== null) return [];
      const isOurs = requested === null ? isNew : isSameId(requested, sessionId);
      return isOurs ? bind(sessionId, { ...native, id: sessionId }) : [];
    },
    id: () => bound,
    expectedId: () => bound ?? requested,
    isResumed: () => requested !== null && bound !== null && isSameId(requested, bound),
  };
}

function isSameId(left: string, right: string): boolean {
  return left === right || left.toLowerCase() === right.toLowerCase();
}

/** With an empty id, or a fork, CLI A makes a new session silently. Source: docs/contracts/cli-a.md §3. */
function mismatchFailure(requested: string, bound: string, line: number): FailureDraft {
  return {
    ...SESSION_MISMATCH,
    message: `CLI A was to continue session ${JSON.stringify(requested)} and went on with ${bound} instead.`,
    evidence: [toEvidence({ source: "stdout", line, text: `"sessionID":"${bound}"` })],
    isProven: true,
  };
}
