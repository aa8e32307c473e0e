import { ProblemError, type CliName, type TurnRequest } from "../../../protocol/index.ts";
import type { SessionFile } from "../../sessions/session-file.ts";
import type { SessionStore } from "../../sessions/session-store.ts";

/** A session's files are damaged: none of it is served, and its id is not free. */
export function unreadableSession(code: "session_not_found" | "session_exists", sessionId: string): ProblemError {
  const message = `session ${sessionId} is there and cannot be read; turnd's log says why, and DELETE removes it`;
  return new ProblemError(code, message);
}

/**
 * The session that a request names; undefined where it is to be made.
 *
 * @throws {ProblemError} session_not_found, executor_mismatch
 */
export function findSession(sessions: Pick<SessionStore, "get">, request: TurnRequest): SessionFile | undefined {
  const session = request.session_id === undefined ? undefined : sessions.get(request.session_id);
  if (session === undefined && request.executor === undefined) throw sessionNotFound(request.session_id);
  if (session !== undefined && request.executor !== undefined && request.executor !== session.executor) {
    throw new ProblemError(
      "executor_mismatch",
      `session ${session.session_id} belongs to ${session.executor}; leave executor out or begin a new session`,
    );
  }
  return session;
}

/** The CLI of a session's turns. @throws {ProblemError} executor_mismatch for a session of replays */
export function cliOf({ session_id: id, executor }: SessionFile): CliName {
  if (executor !== "replay") return executor;
  throw new ProblemError(
    "executor_mismatch",
    `session ${id} holds replays and no CLI runs in it; POST /v1/replays adds one, or begin a session with an executor`,
  );
}

/** There is no such session, and the request does not say how to make one. */
export function sessionNotFound(sessionId: string | undefined): ProblemError {
  return new ProblemError(
    "session_not_found",
    `there is no session ${sessionId}; name an executor to begin one with that id`,
  );
}
