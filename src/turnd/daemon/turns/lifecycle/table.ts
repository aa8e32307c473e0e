import type { Input, InputType } from "./inputs.ts";
import type { Life, Phase, StopReason } from "./life.ts";

/** What the owner of a turn does for an input. */
export type Effect =
  | "abort_start"
  | "attach_process"
  | "stop_process"
  | "abandon_output"
  | "detach_process"
  | "renew_stops"
  | "start_steer_timer"
  | "clear_steer_timer"
  | "save"
  | "save_if_possible"
  | "note_end"
  | "forget_decision"
  | "answer_stops"
  | "answer_waiters";

/** What each effect does: for people. */
export const EFFECTS: Readonly<Record<Effect, string>> = {
  abort_start: "what the start waits for is given up",
  attach_process: "what can be stopped is known from now on",
  stop_process: "the process is asked to end, then killed with all it started",
  abandon_output: "what is printed and not read yet is not read",
  detach_process: "there is nothing to stop any more",
  renew_stops: "requests that stop the turn from now on are answered for its next process",
  start_steer_timer: "`TURND_STEER_WAIT_MS` begin",
  clear_steer_timer: "no turn waits for a step boundary of this one any more",
  save: "`turn.json` is replaced; where that fails, it is thrown to the sender",
  save_if_possible: "`turn.json` is replaced; where that fails, it is logged and the turn goes on",
  note_end: "readers see that it has ended",
  forget_decision: "`result.json` has it",
  answer_stops: "requests that stop the turn are answered",
  answer_waiters: "requests that wait for the end are answered",
};

/** What a step records besides the phase. */
type Note = "stop_reason" | "pending_stop" | "session_deleted" | "steered" | "not_steered" | "log_failed" | "afresh";

/** What must hold for a step besides the phase and the input. */
export const CONDITIONS = {
  "no stop reason is given": ({ stopReason }) => stopReason === undefined,
  "it is to end": ({ stopReason, hasLogFailed }) => stopReason !== undefined || hasLogFailed,
  "turnd shuts down": ({ stopReason, isReasonInherited }) => stopReason === "shutdown" && !isReasonInherited,
  "it is cancelled": (_, input) => input.type === "stop_requested" && input.reason === "cancel",
  "no later turn steers yet": ({ isSteered }) => !isSteered,
  "a later turn steers": ({ isSteered }) => isSteered,
  "its session is deleted": ({ isSessionDeleted }, input) =>
    isSessionDeleted || (input.type === "stop_requested" && input.reason === "session_deleted"),
  "the resume is lost, a fresh session is allowed, and a stop is pending": (life, input) =>
    isToStartAfresh(life, input) && life.pendingStop !== undefined,
  "the resume is lost, a fresh session is allowed, and nothing ends the turn": (life, input) =>
    isToStartAfresh(life, input) && life.pendingStop === undefined,
} satisfies Record<string, (life: Life, input: Input) => boolean>;

function isToStartAfresh({ isAfresh, stopReason, hasLogFailed }: Life, input: Input): boolean {
  const mayStartAfresh = input.type === "process_ended" && input.mayStartAfresh;
  return mayStartAfresh && !isAfresh && stopReason === undefined && !hasLogFailed;
}

export interface Transition {
  readonly from: readonly Phase[];
  readonly on: readonly InputType[];
  readonly if?: keyof typeof CONDITIONS;
  /** Absent: the phase stays. */
  readonly to?: Phase;
  readonly notes?: readonly Note[];
  readonly effects?: readonly Effect[];
}

const BEFORE_A_PROCESS: readonly Phase[] = ["queued", "starting"];
const WITH_A_PROCESS: readonly Phase[] = ["running", "stopping"];
const STOP: readonly Effect[] = ["save_if_possible", "stop_process"];
const LEAVE: readonly Effect[] = ["detach_process", "clear_steer_timer"];

/**
 * The life of a turn: every step it can take. The first row that fits is taken; an input that no row names for the phase
 * changes nothing.
 *
 * docs/lifecycle.md draws it (`node scripts/generate/lifecycle.ts`).
 */
export const TRANSITIONS: readonly Transition[] = [
  { from: ["queued"], on: ["dequeued"], to: "starting" },
  { from: ["queued"], on: ["given"], effects: ["save"] },
  {
    from: BEFORE_A_PROCESS,
    on: ["stop_requested"],
    if: "its session is deleted",
    notes: ["stop_reason", "session_deleted"],
    effects: ["abort_start"],
  },
  { from: BEFORE_A_PROCESS, on: ["stop_requested"], if: "turnd shuts down", notes: ["stop_reason"] },
  {
    from: BEFORE_A_PROCESS,
    on: ["stop_requested", "steer_wait_over"],
    if: "no stop reason is given",
    notes: ["stop_reason"],
    effects: ["abort_start"],
  },
  {
    from: [...BEFORE_A_PROCESS, ...WITH_A_PROCESS],
    on: ["steer_requested"],
    if: "no later turn steers yet",
    notes: ["steered"],
    effects: ["start_steer_timer"],
  },
  {
    from: [...BEFORE_A_PROCESS, ...WITH_A_PROCESS],
    on: ["steer_withdrawn"],
    if: "a later turn steers",
    notes: ["not_steered"],
    effects: ["clear_steer_timer"],
  },

  { from: ["starting"], on: ["prepared"], effects: ["save"] },
  { from: ["starting"], on: ["log_failed"], notes: ["log_failed"] },
  {
    from: ["starting"],
    on: ["process_started"],
    if: "its session is deleted",
    to: "stopping",
    effects: ["attach_process", ...STOP, "abandon_output"],
  },
  {
    from: ["starting"],
    on: ["process_started"],
    if: "it is to end",
    to: "stopping",
    effects: ["attach_process", ...STOP],
  },
  { from: ["starting"], on: ["process_started"], to: "running", effects: ["attach_process"] },
  {
    from: ["starting"],
    on: ["start_given_up"],
    if: "turnd shuts down",
    to: "postponed",
    effects: [...LEAVE, "save_if_possible"],
  },
  { from: ["starting"], on: ["start_given_up", "start_refused"], to: "ending", effects: LEAVE },
  { from: ["starting"], on: ["end_found"], to: "ended", effects: [...LEAVE, "note_end"] },

  {
    from: ["running"],
    on: ["step_boundary"],
    if: "a later turn steers",
    to: "stopping",
    notes: ["stop_reason"],
    effects: STOP,
  },
  {
    from: ["running"],
    on: ["stop_requested"],
    if: "its session is deleted",
    to: "stopping",
    notes: ["stop_reason"],
    effects: [...STOP, "abandon_output"],
  },
  {
    from: ["running"],
    on: ["stop_requested", "steer_wait_over", "watchdog_fired", "output_limit_reached"],
    to: "stopping",
    notes: ["stop_reason"],
    effects: STOP,
  },
  { from: ["running"], on: ["halted"], to: "stopping", effects: ["stop_process"] },
  { from: ["running"], on: ["log_failed"], to: "stopping", notes: ["log_failed"], effects: ["stop_process"] },
  { from: ["stopping"], on: ["log_failed"], notes: ["log_failed"] },
  {
    from: ["stopping"],
    on: ["stop_requested"],
    if: "its session is deleted",
    notes: ["pending_stop", "session_deleted"],
    effects: ["abandon_output"],
  },
  {
    from: ["stopping"],
    on: ["stop_requested", "steer_wait_over"],
    if: "no stop reason is given",
    notes: ["pending_stop"],
  },
  {
    from: ["stopping"],
    on: ["process_ended"],
    if: "the resume is lost, a fresh session is allowed, and a stop is pending",
    to: "starting",
    notes: ["stop_reason", "afresh"],
    effects: ["detach_process", "renew_stops", "abort_start"],
  },
  {
    from: WITH_A_PROCESS,
    on: ["process_ended"],
    if: "the resume is lost, a fresh session is allowed, and nothing ends the turn",
    to: "starting",
    notes: ["afresh"],
    effects: ["detach_process", "renew_stops"],
  },
  { from: WITH_A_PROCESS, on: ["process_ended"], to: "ending", effects: LEAVE },

  { from: ["starting", "ending"], on: ["resume_lost"], effects: ["save"] },
  { from: ["starting", "running", "stopping"], on: ["failed"], to: "ending", effects: LEAVE },
  { from: ["stopping", "ending"], on: ["stop_done"], effects: ["answer_stops"] },
  {
    from: ["starting", "running", "stopping", "ending"],
    on: ["processes_swept"],
    effects: ["save_if_possible"],
  },

  { from: ["ending"], on: ["played"], effects: ["save"] },
  { from: ["ending"], on: ["concluded"], effects: ["save_if_possible"] },
  { from: ["ending"], on: ["end_logged", "end_unwritable"], to: "ended", effects: ["note_end"] },

  { from: ["ended"], on: ["result_written"], effects: ["forget_decision"] },
  { from: ["postponed"], on: ["stop_requested"], if: "it is cancelled", notes: ["stop_reason"], effects: ["save"] },
  { from: ["ended", "postponed"], on: ["closed"], effects: ["answer_stops", "answer_waiters"] },
];

export interface Step {
  readonly life: Life;
  /** To be executed in this order. */
  readonly effects: readonly Effect[];
}

/** What an input does to a turn. Pure. */
export function step(life: Life, input: Input): Step {
  const row = TRANSITIONS.find(
    ({ from, on, if: condition }) =>
      from.includes(life.phase) &&
      on.includes(input.type) &&
      (condition === undefined || CONDITIONS[condition](life, input)),
  );
  if (row === undefined) return { life, effects: [] };
  const { to = life.phase, notes = [], effects = [] } = row;
  return { life: notes.reduce((noted, note) => take(noted, note, input), { ...life, phase: to }), effects };
}

function take(life: Life, note: Note, input: Input): Life {
  switch (note) {
    case "stop_reason": {
      const given = reasonOf(input) ?? life.pendingStop;
      return { ...life, stopReason: life.isReasonInherited ? life.stopReason : firstOf(life.stopReason, given) };
    }
    case "pending_stop":
      return { ...life, pendingStop: firstOf(life.pendingStop, reasonOf(input)) };
    case "session_deleted":
      return { ...life, isSessionDeleted: true };
    case "steered":
      return { ...life, isSteered: true };
    case "not_steered":
      return { ...life, isSteered: false };
    case "log_failed":
      return { ...life, hasLogFailed: true };
    case "afresh":
      return { ...life, isAfresh: true };
  }
}

/**
 * The first stop reason holds. A shutdown alone is none yet where nothing runs: it leaves the turn to the next start, which
 * must not run what was cancelled meanwhile.
 */
function firstOf(first: StopReason | undefined, later: StopReason | undefined): StopReason | undefined {
  return first === "shutdown" && (later === "cancel" || later === "session_deleted") ? later : (first ?? later);
}

/** The stop reason that an input gives; undefined where it gives none. */
export function reasonOf(input: Input): StopReason | undefined {
  switch (input.type) {
    case "stop_requested":
    case "watchdog_fired":
      return input.reason;
    case "output_limit_reached":
      return "output_limit";
    case "step_boundary":
    case "steer_wait_over":
      return "steer";
    default:
      return undefined;
  }
}
