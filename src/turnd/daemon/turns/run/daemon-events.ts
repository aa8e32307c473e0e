import { defined } from "../../../../kit/defined.ts";
import type { Mode, Transport } from "../../../protocol/index.ts";
import type { NewEvent } from "../../event-log/sequence.ts";
import type { Degraded } from "../lifecycle/inputs.ts";
import type { Emitter } from "./emitter.ts";
import type { Progress } from "./progress.ts";

export interface StartedFacts {
  readonly cliName: string;
  readonly cliVersion: string | undefined;
  readonly mode: Mode;
  readonly transport: Transport | undefined;
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
      cli: { name: facts.cliName, ...defined({ version: facts.cliVersion }) },
      mode: facts.mode,
      ...(facts.transport === "interactive" ? { transport: facts.transport } : {}),
      ...defined({ model: facts.model }),
      resume: facts.requested === null ? {} : { requested: facts.requested },
      ...defined({ trace_id, traceparent }),
    },
  };
}

/** A resume was lossy. Law: never pretend. */
export function degradedEvent(requested: string, reason: string): NewEvent {
  return { type: "session.degraded", data: { code: "resume_degraded", requested, reason } };
}

/** Logs what turnd reports of a turn's start, each event once in a log: however often it is resumed, or starts anew. */
export interface StartLog {
  started(facts: StartedFacts): Promise<void>;
  /** First on the disk, then in the log: a daemon that is killed in between logs it at its next start. */
  degraded(degraded: Pick<Degraded, "requested" | "reason"> | undefined): Promise<void>;
}

/** @param progress - what an earlier daemon has logged */
export function createStartLog(
  emitter: Pick<Emitter, "emitDaemonEvents">,
  progress: Pick<Progress, "hasStarted" | "isDegraded">,
): StartLog {
  let { hasStarted, isDegraded } = progress;
  return {
    async started(facts) {
      if (hasStarted) return;
      hasStarted = true;
      await emitter.emitDaemonEvents([startedEvent(facts)]);
    },
    async degraded(degraded) {
      if (degraded === undefined || isDegraded) return;
      isDegraded = true;
      await emitter.emitDaemonEvents([degradedEvent(degraded.requested, degraded.reason)]);
    },
  };
}
