import type { Decision, TurnEndedData } from "../../../protocol/index.ts";
import type { AnswerTaken, AskAnswer, GivenInput, PendingAsk } from "../../executors/contract/interactive.ts";
import type { EndedProcess } from "../../process/keeper/tree.ts";
import type { RunningCommand } from "../../process/keeper/tool-process.ts";
import type { StopReason } from "./life.ts";
import type { EndedBy, TurnFile } from "./turn-file.ts";

/** What can happen to a turn. */
export type Input =
  | { readonly type: "dequeued" }
  | { readonly type: "prepared"; readonly start: StartFacts }
  | { readonly type: "process_started"; readonly process: TurnProcess }
  | { readonly type: "start_refused" }
  | { readonly type: "start_given_up" }
  | { readonly type: "resume_lost"; readonly degraded: Degraded }
  | { readonly type: "steer_requested" }
  | { readonly type: "steer_withdrawn" }
  | { readonly type: "given"; readonly to: string }
  | { readonly type: "step_boundary" }
  | { readonly type: "steer_wait_over" }
  | { readonly type: "stop_requested"; readonly reason: RequestedStop }
  | { readonly type: "watchdog_fired"; readonly reason: WatchReason }
  | { readonly type: "output_limit_reached" }
  | { readonly type: "halted" }
  | { readonly type: "log_failed" }
  | { readonly type: "processes_swept"; readonly processes: readonly EndedProcess[] }
  | { readonly type: "stop_done" }
  | { readonly type: "process_ended"; readonly mayStartAfresh: boolean }
  | { readonly type: "played" }
  | { readonly type: "failed" }
  | ({ readonly type: "concluded"; readonly endedBy: EndedBy } & Pick<TurnFile, "halted" | "taken">)
  | { readonly type: "end_found"; readonly end: End }
  | { readonly type: "end_logged"; readonly end: End }
  | { readonly type: "end_unwritable"; readonly end: End; readonly data: TurnEndedData }
  | { readonly type: "result_written" }
  | { readonly type: "closed" };

export type InputType = Input["type"];

/** Who sends an input, and when: for people. */
export const INPUTS: Readonly<Record<InputType, string>> = {
  dequeued: "it has its place in its session; or it is to end while it waits",
  prepared: "it is about to start: what `turn.json` says of that, while its home is made ready",
  process_started: "its process or player can be followed: started now, or found alive or ended after a restart",
  start_refused:
    "something keeps it from running, what was started is gone without a trace, or another turn took its input in",
  start_given_up: "what the start waited for was given up, since the turn is to end",
  resume_lost: "its native session cannot be continued",
  steer_requested: "a later turn of the session was admitted with `queue_policy` `steer`",
  steer_withdrawn: "no turn that asked for it waits any more: the last one was stopped before its place came",
  given: "the running turn of its session is about to be given its input",
  step_boundary: "the CLI stands between two steps",
  steer_wait_over: "`TURND_STEER_WAIT_MS` are over",
  stop_requested: "a cancel, the deletion of the session, or the shutdown of turnd",
  watchdog_fired: "the start, idle, turn or exit timeout",
  output_limit_reached: "the CLI has printed more than `TURND_MAX_OUTPUT_BYTES` allows",
  halted: "what the process printed shows that it must not go on",
  log_failed: "the disk refused an event",
  processes_swept: "processes of the turn were ended",
  stop_done: "the processes of a turn that is being stopped are gone; its last lines may still become events",
  process_ended: "the process is gone and its last line is translated",
  played: "the recording was played to its end",
  failed: "turnd itself failed on the way",
  concluded: "how it ended is decided",
  end_found: "its log has an end already",
  end_logged: "`turn.ended` is on the disk",
  end_unwritable: "the disk refused `turn.ended`, or the log cannot be opened",
  result_written: "`result.json` is written",
  closed: "its log is closed, and nothing of it is left to do",
};

/** What a request, or the end of turnd, stops a turn with. */
export type RequestedStop = Extract<StopReason, "cancel" | "session_deleted" | "shutdown">;

/** Why a watchdog fired. */
export type WatchReason = Extract<StopReason, "start_timeout" | "idle_timeout" | "turn_timeout" | "exit_timeout">;

/** Why a turn's native session cannot be continued. */
export type Degraded = NonNullable<TurnFile["degraded"]>;

/** What `turn.json` says of a start. */
export type StartFacts = Required<Pick<TurnFile, "started_at">> &
  Pick<
    TurnFile,
    | "transport"
    | "started_boot"
    | "cli_name"
    | "cli_version"
    | "args"
    | "requested_session"
    | "usage_before"
    | "provider_fault"
  >;

/** What is kept of an end. */
export interface End {
  readonly status: TurnEndedData["status"];
  readonly at: string;
  /** How it was decided, until `result.json` says it. */
  readonly decision?: Decision;
}

/** What people are asked in a turn that runs, and what they answer. */
export interface TurnAsks {
  pending(): readonly PendingAsk[];
  /** The answer is in the turn's files when this returns. */
  answer(id: string, answer: AskAnswer): AnswerTaken;
}

/** What can be ended of a turn that runs. */
export interface TurnProcess {
  /** Called once at most. */
  stop(how: StopOrder): void;
  /** What it has printed is of no use any more. */
  abandonOutput(): void;
  /** The command of the CLI's that runs now; undefined where none does. A replay has none. */
  runningCommand?(): RunningCommand | undefined;
  /** Absent where nobody is asked. */
  readonly asks?: TurnAsks;
  /** Takes in what a later turn says. Absent where it cannot. */
  readonly takeInput?: (input: GivenInput) => void;
}

export interface StopOrder {
  /** Absent where what the process did ends it, and no request or clock of turnd's. */
  readonly reason: StopReason | undefined;
  /** It must not print another line. */
  readonly isAtOnce: boolean;
  /**
   * Resolves when the reason is on the disk, or cannot be written. First the reason, then the signal: a daemon that is
   * killed in between must not call it a crash of the CLI.
   */
  readonly saved: Promise<void>;
}
