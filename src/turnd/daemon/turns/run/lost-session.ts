import type { SessionStore } from "../../sessions/session-store.ts";
import type { AttemptResult } from "./attempt.ts";
import { executorOf, type Executors } from "../executors/executors.ts";
import type { Degraded } from "../lifecycle/inputs.ts";
import type { Turn } from "../lifecycle/turn.ts";

/** The native session a turn is to go on with; null for a fresh one. */
export function requestedSession(sessions: Pick<SessionStore, "get">, { file }: Turn): string | null {
  if (file.degraded !== undefined) return null;
  return sessions.get(file.session_id)?.native_session_id ?? null;
}

/**
 * Finds out what makes a resume impossible, before a process is started for it.
 *
 * An id that is none never reaches the CLI, which might silently start anew with it.
 * @returns undefined when nothing does, or nothing is to be resumed
 */
export async function findLost(
  { executors, sessions }: { readonly executors: Executors; readonly sessions: Pick<SessionStore, "get" | "hasHome"> },
  turn: Turn,
  id: string | null,
): Promise<Degraded | undefined> {
  const { executor } = executorOf(executors, turn.file.executor);
  if (id === null) return undefined;
  if (!executor.isNativeSessionId(id)) return lost(id, `"${id}" is no session id of ${executor.id}.`);
  const missing = sessions.get(turn.file.session_id)?.native_history_lost;
  if (missing !== undefined) {
    return lost(id, `The native session misses an earlier turn, which ${executor.label} could not save: ${missing}`);
  }
  if (await sessions.hasHome(turn.file.session_id)) return undefined;
  return lost(id, "The session's home, which held its native state, is gone.");
}

function lost(requested: string, reason: string): Degraded {
  return { requested, reason, set_aside: [] };
}

/** What a process that was started for the resume showed of its loss. */
export function lostResume(executors: Executors, turn: Turn, attempt: AttemptResult): Degraded {
  const { executor, cliName } = executorOf(executors, turn.file.executor);
  const rule = (attempt.halt ?? attempt.ending.failure)?.rule ?? "";
  return {
    requested: turn.file.requested_session ?? "",
    reason: attempt.degradedReason,
    set_aside: [...(executor.corruptState?.(rule, cliName) ?? [])],
  };
}
