import type { LogLine } from "../records/log-line.ts";

/** Whether a tool is at work, by the log: on stdout the CLI prints a tool only when it has ended. */
export interface OpenTools {
  note(log: LogLine): void;
  /** @param ownSession - the turn's: every other one is a subagent's, which works for the tool that started it */
  hasOpen(ownSession: string | null): boolean;
}

/** Of the sessions of one process; what a further one asks counts as asked again. */
const MAX_SESSIONS = 1_000;

/**
 * Creates the signs of one process: what the log reported last, a tool or a request to the model.
 *
 * A tool is at work from its call until a session asks the model. What a subagent asks is work too, but not what it asks
 * again without a tool in between: a provider that refuses for ever, or an agent that gets nowhere, is none.
 * Not told apart: a tool of one subagent while another one asks, and an answer that stops after a tool was called.
 * @see docs/contracts/cli-a.md §6.1
 */
export function createOpenTools(): OpenTools {
  let latest: { readonly asks?: string; readonly isWork: boolean } = { isWork: false };
  let called = 0;
  /** How many tools had been called when each session asked last. */
  const calledBefore = new Map<string, number>();

  return {
    note(log) {
      if (log.kind === "tool") {
        called += 1;
        latest = { isWork: !log.isAskedFor };
      } else if (log.kind === "request") {
        const isKnown = calledBefore.has(log.sessionId) || calledBefore.size < MAX_SESSIONS;
        latest = { asks: log.sessionId, isWork: isKnown && calledBefore.get(log.sessionId) !== called };
        if (isKnown) calledBefore.set(log.sessionId, called);
      }
    },
    hasOpen: (ownSession) => latest.isWork && ownSession !== null && latest.asks !== ownSession,
  };
}
