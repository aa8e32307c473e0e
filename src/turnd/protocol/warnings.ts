import type { TurnEvent } from "./events.ts";

/** What `warning` events tell of, by `data.code`: none ends a turn or keeps it from completing. */
export const WARNINGS = {
  agent_not_found:
    "CLI A does not know the agent that was asked for, or it is a subagent, and went on with its default one",
  cli_error: "the CLI reported an error and went on after it",
  cli_warning: "CLI B's own warning, in its words",
  cli_did_not_exit:
    "the turn was complete and the CLI went on running: it was ended, by `TURND_EXIT_TIMEOUT_MS` or another limit",
  configuration_removed:
    "something in the session's home that is neither turnd's nor made by the CLI itself was removed before the turn",
  context_compacted: "the CLI summarised the conversation to make room; the summary is a `message`",
  foreign_turn:
    "CLI B's server began a turn, or took in a message, that turnd had not sent: something in the sandbox had queued it",
  history_not_saved:
    "CLI B could not write its own history: the session's next turn is given it by turnd and is `degraded`",
  limit_reached:
    "the turn came to its own limit of processes or memory (`TURND_TURN_MAX_PROCESSES`, `TURND_TURN_MEMORY_MB`): " +
    "something was killed or not started; the message counts",
  no_diff: "the turn was asked for a diff and will have none; the message says why",
  other_session: "CLI A printed a record of another session than the turn's",
  other_thread: "CLI B announced a second thread in the same run",
  output_cut:
    "the events of what was printed take more than four times `TURND_MAX_OUTPUT_BYTES`: the rest is neither logged nor kept",
  output_recovered: "CLI A ended before it had printed everything; what follows was taken from its own store",
  processes_left: "something the turn started would not die; the message names it",
  sandbox_unavailable: "CLI B's own sandbox kept a command from running; the turn went on",
  state_set_aside: "native state that could not be read was moved aside, and a fresh native session was started",
  stream_gap: "events of CLI A's server were lost, and its store did not have them; what follows is whole again",
  tool_call_rejected: "CLI B refused a tool call of the model's before it ran",
  transport_fallback:
    "the turn was to be interactive and is headless: the message says why. The answer does not stream, and nobody can answer",
  translation_changed:
    "since a restart turnd translates what is logged differently (another version or `TURND_MAX_LINE_BYTES`): what was logged " +
    "stays, what follows is translated anew",
} as const;
export type WarningCode = keyof typeof WARNINGS;

/** The event of a warning. The wire does not close the list: a recording of a later turnd may hold other codes. */
export function warningEvent(code: WarningCode, message: string): TurnEvent & { type: "warning" } {
  return { type: "warning", data: { code, message } };
}
