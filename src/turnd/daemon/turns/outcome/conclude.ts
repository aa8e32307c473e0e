import { defined } from "../../../../kit/defined.ts";
import type { DecidedOn, Evidence, Exit, TakenInput, TurnEndedData, Verdict } from "../../../protocol/index.ts";
import type { Ending } from "../../executors/contract/translator.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import { KEEPER_LOST, ownFailure } from "./own-failure.ts";
import type { StopReason } from "../lifecycle/life.ts";
import type { EndedBy } from "../lifecycle/turn-file.ts";
import { toFailure } from "./failure.ts";
import { STOP_REASONS, toDraft } from "./stop-reasons.ts";

/** Everything that decides how a turn is reported to have ended. */
export interface TurnFacts {
  /** The turn's stop reason; null where it ended by itself. */
  readonly endedBy: EndedBy;
  /** What the process left behind; undefined when none ran. */
  readonly ending?: Ending;
  /** Decided by turnd before a process started, or while it ran: the turn failed with this. */
  readonly halt?: FailureDraft;
  /** null where the end of the process was not seen. */
  readonly exit: Exit | null;
  /** True where only output was recorded: that no exit is known means nothing then, and records prove what they prove. */
  readonly isExitUnrecorded?: boolean;
  readonly isDegraded: boolean;
  /** Why turnd's own request to the provider, before the process, was not answered. */
  readonly providerFault?: string;
  /** Another turn took its input in, and completed. */
  readonly taken?: TakenInput;
  /** The last that the process printed, in a few words. */
  readonly lastSeen?: string;
}

/** The part of `turn.ended` that says what became of the turn. */
export type Conclusion = Omit<TurnEndedData, "counts" | "duration_ms" | "digest">;

/** Something that can decide how a turn ended. */
export interface Candidate {
  readonly rule: string;
  readonly on: DecidedOn;
  readonly verdict?: Verdict;
  readonly seenIn?: string;
  /** The evidence for it; absent when it does not apply. */
  readonly evidence?: readonly Evidence[];
  /** Of a failure. */
  readonly draft?: FailureDraft;
  /** Of a cancelled turn. */
  readonly cancelledBy?: NonNullable<TurnEndedData["cancelled_by"]>;
}

/** Decides how a turn ended, by the first candidate that applies. Laws: one end and success is proved. */
export function concludeTurn(facts: TurnFacts): Conclusion {
  const { cancelledBy, draft } = decide(facts);
  const common = {
    ...(facts.taken === undefined ? {} : { taken_by: facts.taken.turn_id }),
    output: facts.ending?.output ?? facts.taken?.output ?? null,
    ...(facts.ending?.nativeSessionId ? { native_session_id: facts.ending.nativeSessionId } : {}),
    resumed: facts.ending?.isResumed ?? false,
    degraded: facts.isDegraded,
    ...usageOf(facts.ending),
    ...(facts.exit === null ? {} : { exit: facts.exit }),
  };
  if (cancelledBy !== undefined) return { status: "cancelled", cancelled_by: cancelledBy, ...common };
  return draft === undefined
    ? { status: "completed", ...common }
    : { status: "failed", failure: toFailure(draft), ...common };
}

/** The candidate that decides. */
export function decide(facts: TurnFacts): Candidate {
  const applying = listCandidates(facts).find(({ evidence }) => evidence !== undefined);
  return applying ?? fromDraft(ownFailure("unknown", "Nothing shows how the turn ended."));
}

/**
 * Everything that can decide how a turn ended, in deciding order: what turnd itself did, then what the process left behind.
 *
 * Proof of completion outweighs a steer, a watchdog or a shutdown that came too late; a proven cause outweighs the
 * watchdog that noticed it. A cancel is a cancel.
 */
export function listCandidates({
  endedBy,
  ending,
  halt,
  exit,
  isExitUnrecorded = false,
  providerFault,
  lastSeen,
  taken,
}: TurnFacts): readonly Candidate[] {
  const stops = (...reasons: readonly StopReason[]): Candidate[] =>
    reasons.map((reason) => fromStop(reason, reason === endedBy, SILENCES.has(reason) ? lastSeen : undefined));
  const failure = ending?.failure;
  // A halt is what the process's end shows too.
  const cause = failure === undefined || failure === halt ? [] : [fromDraft(withProviderFault(failure, providerFault))];
  const isProven = failure?.isProven === true;
  // The exit of a process that turnd itself ended proves nothing, nor does it disprove.
  const hasExitedWell =
    isExitUnrecorded || endedBy !== null || (exit !== null && exit.code === (ending?.proof?.exitCode ?? 0));
  return [
    ...stops("cancel", "session_deleted"),
    halt === undefined ? { rule: "turnd/halt", on: "turnd" } : fromDraft(halt),
    ...stops("output_limit"),
    fromProof(hasExitedWell ? ending?.proof : undefined),
    fromTaken(endedBy === null ? taken : undefined),
    ...stops("steer", "shutdown"),
    ...(isProven ? cause : []),
    ...stops("start_timeout", "idle_timeout", "turn_timeout", "exit_timeout"),
    fromDraft(KEEPER_LOST, endedBy === null && exit === null && !isExitUnrecorded),
    ...(isProven ? [] : cause),
  ];
}

/** Of a provider that was not reached: the CLI may say no more than that, and turnd has asked it too. */
function withProviderFault(draft: FailureDraft, fault: string | undefined): FailureDraft {
  if (fault === undefined || draft.code !== "network_error") return draft;
  const text = `Before the turn turnd asked it too: ${fault}`;
  return {
    ...draft,
    message: `${draft.message.trim().replace(/\.$/, "")}. ${text}`,
    evidence: [...draft.evidence, { source: "turnd", text }],
  };
}

/** Of these the last that was printed shows what was waited for. */
const SILENCES: ReadonlySet<StopReason> = new Set(["idle_timeout", "turn_timeout"]);

function fromStop(reason: StopReason, hasHappened: boolean, lastSeen: string | undefined): Candidate {
  const { code, cancelledBy, message } = STOP_REASONS[reason];
  if (cancelledBy === undefined) return fromDraft(toDraft(reason, code, lastSeen), hasHappened);
  const cancelled = { rule: `turnd/${reason}`, on: "turnd", verdict: "cancelled", cancelledBy } as const;
  return hasHappened ? { ...cancelled, evidence: [{ source: "turnd", text: message }] } : cancelled;
}

function fromProof(proof: Ending["proof"]): Candidate {
  const { evidence, seenIn } = proof ?? {};
  return {
    rule: "completed",
    on: "record",
    verdict: "completed",
    ...defined({ seenIn, evidence }),
  };
}

/** The proof is in the log of the turn that took it in. */
function fromTaken(taken: TakenInput | undefined): Candidate {
  const rule = { rule: "turnd/taken", on: "turnd", verdict: "completed" } as const;
  if (taken === undefined) return rule;
  const text = `Turn ${taken.turn_id} took its input in (event ${taken.seq}), and completed.`;
  return { ...rule, evidence: [{ source: "turnd", text }] };
}

function fromDraft(draft: FailureDraft, applies = true): Candidate {
  const { rule, on, code, seenIn, evidence } = draft;
  const described = { rule, on, verdict: code, ...defined({ seenIn }), draft };
  return applies ? { ...described, evidence } : described;
}

function usageOf(ending: Ending | undefined): { usage?: TurnEndedData["usage"]; cost_usd?: number } {
  return {
    ...defined({ usage: ending?.usage, cost_usd: ending?.costUsd }),
  };
}
