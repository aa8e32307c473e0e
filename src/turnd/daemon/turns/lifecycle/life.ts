import type { TurnEndedBy } from "../../../protocol/index.ts";

/** Where a turn stands. */
export type Phase = "queued" | "starting" | "running" | "stopping" | "ending" | "ended" | "postponed";

/** What each phase means: for people. */
export const PHASES: Readonly<Record<Phase, string>> = {
  queued: "admitted, on the disk, and waiting for its place",
  starting: "has its place; what it needs is prepared, or what an earlier daemon started is looked for",
  running: "its process, or the player of its recording, is followed",
  stopping: "the same, and it is being ended",
  ending: "nothing of it runs; how it ended is decided and logged",
  ended: "`turn.ended` is in its log, or in memory where the disk takes nothing",
  postponed: "turnd stopped before anything of it ran; the next start goes on with it",
};

/** Why turnd ends a turn: what `ended_by` of its `turn.json` says. */
export type StopReason = TurnEndedBy;

/** All that decides what a turn's next input does. */
export interface Life {
  readonly phase: Phase;
  /** Why turnd ends it. The first reason that is given holds. */
  readonly stopReason: StopReason | undefined;
  /** Whether that reason was given to an earlier daemon. */
  readonly isReasonInherited: boolean;
  /** What it is asked to end with while its process is being ended for what that did itself: holds where another takes its place. */
  readonly pendingStop: StopReason | undefined;
  /** Whether its session is being deleted: what it has printed is of no use any more. */
  readonly isSessionDeleted: boolean;
  /** Whether a later turn waits for a step boundary of this one to take over the session. */
  readonly isSteered: boolean;
  /** Whether the disk has refused one of its events. */
  readonly hasLogFailed: boolean;
  /** Whether its native session was lost and a fresh one takes its place. */
  readonly isAfresh: boolean;
}

/** What of a turn's life its `turn.json` keeps. */
export interface Kept {
  readonly stopReason: StopReason | undefined;
  readonly isAfresh: boolean;
}

/** The life of a turn that was just admitted, or that a start of turnd finds on the disk without an end. */
export function beginLife({ stopReason, isAfresh }: Kept = { stopReason: undefined, isAfresh: false }): Life {
  return {
    phase: "queued",
    stopReason,
    isReasonInherited: stopReason !== undefined,
    pendingStop: undefined,
    isSessionDeleted: stopReason === "session_deleted",
    isSteered: false,
    hasLogFailed: false,
    isAfresh,
  };
}
