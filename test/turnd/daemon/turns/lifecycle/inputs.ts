import fc from "fast-check";
import { INPUTS, type Input, type InputType } from "../../../../../src/turnd/daemon/turns/lifecycle/inputs.ts";
import { TurnFile } from "../../../../../src/turnd/daemon/turns/lifecycle/turn-file.ts";

/** Inputs of a kind that differ in what a step depends on. */
const VARIANTS: Readonly<Record<InputType, readonly Input[]>> = {
  dequeued: [{ type: "dequeued" }],
  prepared: [{ type: "prepared", start: { started_at: "2026-01-01T00:00:00.000Z", requested_session: null } }],
  process_started: [{ type: "process_started", process: { stop() {}, abandonOutput() {} } }],
  start_refused: [{ type: "start_refused" }],
  start_given_up: [{ type: "start_given_up" }],
  resume_lost: [{ type: "resume_lost", degraded: { requested: "s", reason: "It is gone.", set_aside: [] } }],
  steer_requested: [{ type: "steer_requested" }],
  given: [{ type: "given", to: "turn" }],
  steer_withdrawn: [{ type: "steer_withdrawn" }],
  step_boundary: [{ type: "step_boundary" }],
  steer_wait_over: [{ type: "steer_wait_over" }],
  stop_requested: [
    { type: "stop_requested", reason: "cancel" },
    { type: "stop_requested", reason: "session_deleted" },
    { type: "stop_requested", reason: "shutdown" },
  ],
  watchdog_fired: [
    { type: "watchdog_fired", reason: "start_timeout" },
    { type: "watchdog_fired", reason: "idle_timeout" },
    { type: "watchdog_fired", reason: "turn_timeout" },
  ],
  output_limit_reached: [{ type: "output_limit_reached" }],
  halted: [{ type: "halted" }],
  log_failed: [{ type: "log_failed" }],
  processes_swept: [{ type: "processes_swept", processes: [] }],
  stop_done: [{ type: "stop_done" }],
  process_ended: [
    { type: "process_ended", mayStartAfresh: false },
    { type: "process_ended", mayStartAfresh: true },
  ],
  played: [{ type: "played" }],
  failed: [{ type: "failed" }],
  concluded: [{ type: "concluded", endedBy: null, halted: undefined, taken: undefined }],
  end_found: [{ type: "end_found", end: { status: "completed", at: "2026-01-01T00:00:00.000Z" } }],
  end_logged: [{ type: "end_logged", end: { status: "completed", at: "2026-01-01T00:00:00.000Z" } }],
  end_unwritable: [
    {
      type: "end_unwritable",
      end: { status: "failed", at: "2026-01-01T00:00:00.000Z" },
      data: {
        status: "failed",
        output: null,
        resumed: false,
        degraded: false,
        counts: { events: 1, records: 0, unknown: 0, tools: 0, retries: 0 },
        duration_ms: 0,
        digest: "0".repeat(64),
      },
    },
  ],
  result_written: [{ type: "result_written" }],
  closed: [{ type: "closed" }],
};

/** Every input there is. */
export const ALL_INPUTS: readonly Input[] = (Object.keys(INPUTS) as InputType[]).flatMap((type) => VARIANTS[type]);

/** Any input, at any time. */
export const anyInput: fc.Arbitrary<Input> = fc.constantFrom(...ALL_INPUTS);

/** `turn.json` of a turn that was just admitted. */
export function admittedFile(): TurnFile {
  return TurnFile.parse({
    v: 1,
    turn_id: "t",
    request_id: "request-1",
    request_hash: "0",
    session_id: "session-1",
    executor: "cli-b",
    mode: "execute",
    queue_policy: "enqueue",
    resume_policy: "continue",
    timeout_ms: 0,
    idle_timeout_ms: 0,
    images: [],
    workspace: "/w",
    created_at: "2026-01-01T00:00:00.000Z",
    order: 1,
  });
}
