/** Exit codes of turnd's client commands. */
export const EXIT = {
  /** Done; of `run` and `tail`: the turn has completed. */
  done: 0,
  /** The turn failed, or turnd reported a fault. */
  failed: 1,
  usage: 2,
  /** The token is missing or wrong. */
  unauthorized: 3,
  notFound: 5,
  /** No turnd answers, or the connection was lost for too long. */
  unreachable: 6,
  /** The turn was cancelled, and not by a signal to this command. */
  cancelled: 7,
  interrupted: 130,
  /** The reader of the output has gone before the turn's end; the turn goes on. */
  readerGone: 141,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The same for people, in the help of `turnd run`. */
export const EXIT_CODES = [
  "Exit codes: 0 the turn completed, 1 it failed, 2 wrong arguments, 3 the token is missing or wrong, 5 there is no such",
  "turn or session, 6 turnd does not answer, 7 the turn was cancelled, 130 interrupted (Ctrl-C), 141 who read the output",
  "has gone.",
].join("\n");
