import type { AttemptResult } from "./attempt.ts";
import { executorOf, type TurnContext } from "../context.ts";
import type { Degraded } from "../lifecycle/inputs.ts";
import type { Turn } from "../lifecycle/turn.ts";

/** The native session a turn is to go on with; null for a fresh one. */
export function requestedSession(context: TurnContext, turn: Turn): string | null {
  if (turn.file.degraded !== undefined) return null;
  return context.sessions.get(turn.file.session_id)?.native_session_id ?? null;
}

/**
 * Finds out what makes a resume impossible, before a process is started for it.
 *
 * An id that is none never reaches the CLI, which might silently start anew with it.
 * @returns undefined when nothing does, or nothing is to be resumed
 */
export async function findLost(context: TurnContext, turn: Turn, id: string | null): Promise<Degraded | undefined> {
  const { executor } = executorOf(context, turn.file.executor);
  if (id === null) return undefined;
  if (!executor.isNativeSessionId(id)) return lost(id, `"${id}" is no session id of ${executor.id}.`);
  if (await context.sessions.hasHome(turn.file.session_id)) return undefined;
  return lost(id, "The session's home, which held its native state, is gone.");
}

function lost(requested: string, reason: string): Degraded {
  return { requested, reason, set_aside: [] };
}

/** What a process that was started for the resume showed of its loss. */
export function lostResume(context: TurnContext, turn: Turn, attempt: AttemptResult): Degraded {
  const { executor, cliName } = executorOf(context, turn.file.executor);
  const rule = (attempt.halt ?? attempt.ending.failure)?.rule ?? "";
  return {
    requested: turn.file.requested_session ?? "",
    reason: attempt.degradedReason,
    set_aside: [...(executor.corruptState?.(rule, cliName) ?? [])],
  };
}
