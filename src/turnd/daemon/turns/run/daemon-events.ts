import type { Mode } from "../../../protocol/index.ts";
import type { NewEvent } from "../../event-log/sequence.ts";

export interface StartedFacts {
  readonly cliName: string;
  readonly cliVersion: string | undefined;
  readonly mode: Mode;
  readonly model: string | undefined;
  readonly requested: string | null;
  readonly trace: { readonly trace_id?: string | undefined; readonly traceparent?: string | undefined };
}

/** The first event of a turn that ran. */
export function startedEvent(facts: StartedFacts): NewEvent {
  const { trace_id, traceparent } = facts.trace;
  return {
    type: "turn.started",
    data: {
      cli: { name: facts.cliName, ...(facts.cliVersion === undefined ? {} : { version: facts.cliVersion }) },
      mode: facts.mode,
      ...(facts.model === undefined ? {} : { model: facts.model }),
      resume: facts.requested === null ? {} : { requested: facts.requested },
      ...(trace_id === undefined ? {} : { trace_id }),
      ...(traceparent === undefined ? {} : { traceparent }),
    },
  };
}

/** A resume was lossy. Law: never pretend. */
export function degradedEvent(requested: string, reason: string): NewEvent {
  return { type: "session.degraded", data: { code: "resume_degraded", requested, reason } };
}
