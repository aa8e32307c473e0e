import { ProblemError } from "../protocol/index.ts";

/** The path of a turn. @throws {ProblemError} invalid_request, for what is no part of a URL */
export function turnPath(turnId: string): string {
  return `/v1/turns/${idSegment(turnId, "turn id")}`;
}

/** The path of a session. @throws {ProblemError} as {@link turnPath} */
export function sessionPath(sessionId: string): string {
  return `/v1/sessions/${idSegment(sessionId, "session id")}`;
}

/** An id as a part of a path; one that would lead to another route is refused. @throws {ProblemError} invalid_request */
export function idSegment(id: string, what: string): string {
  if (/^\.{0,2}$/.test(id)) throw new ProblemError("invalid_request", `${JSON.stringify(id)} is no ${what}`);
  return encodeURIComponent(id);
}
