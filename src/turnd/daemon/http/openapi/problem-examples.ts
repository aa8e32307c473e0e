import type { Problem, ProblemCode } from "../../../protocol/index.ts";
import { TURN } from "./example-values.ts";

/** A message of each code, as turnd or the image's front may word it. */
const MESSAGES: Readonly<Record<ProblemCode, string>> = {
  invalid_json: "the body is not valid JSON: Unexpected end of JSON input",
  unauthorized: "send the token as `Authorization: Bearer <token>`",
  forbidden_origin: "requests of pages of https://example.org are not answered",
  turn_not_found: `there is no turn ${TURN}`,
  session_not_found: "there is no session session-0001",
  request_not_found: "there is no request request-0001",
  approval_not_found: "turn 0198a3f2-7c1b-7d2e-9f40-3b6c5a1e8d07 does not ask 7",
  approval_resolved: "0 of turn 0198a3f2-7c1b-7d2e-9f40-3b6c5a1e8d07 has another answer already",
  turn_ended: "turn 0198a3f2-7c1b-7d2e-9f40-3b6c5a1e8d07 has ended",
  diff_not_found: "no diff of this turn was kept: ask for it with `diff: true`",
  executor_not_found: "there is no executor cli-z",
  route_not_found: "there is no route GET /v1/nothing",
  shell_not_found: "there is no shell shell-0001",
  file_not_found: "there is nothing at src/main.ts",
  file_forbidden: "the CLIs' user may not read src/main.ts",
  file_type_mismatch: "src is a directory",
  directory_not_empty: "src is not empty: `recursive=true` removes it with all below it",
  precondition_failed: "the file has another ETag",
  range_not_satisfiable: "the file ends before the range",
  invalid_path: "`..` is not allowed in a path",
  archive_too_large: "the directory has more entries than TURND_MAX_ARCHIVE_ENTRIES allows",
  too_many_transfers: "TURND_MAX_TRANSFERS files are being transferred already; try again later",
  transfer_failed: "the transfer of the file failed; try again",
  session_busy: "the session has a turn that runs",
  request_id_conflict: "the request_id belongs to a request with another body",
  turn_not_ended: "the turn has not ended",
  executor_mismatch: "the session belongs to cli-a",
  session_exists: "there is a session session-0001 already",
  shell_ended: "the shell has ended",
  body_too_large: "the body is larger than TURND_MAX_BODY_BYTES allows",
  unsupported_media_type: "send the body as application/json",
  cursor_beyond_end: "the cursor 100 is beyond the last event, 12",
  invalid_request: "executor: needed unless session_id names a session",
  bad_cursor: "after_seq must be an integer from 0 on",
  workspace_unusable: "the workspace /workspace/project is not a directory",
  mode_unsupported: "cli-a has no mode review",
  queue_full: "the session has as many waiting turns as it may have; try again later",
  too_many_streams: "as many event streams are open as there may be; try again later",
  too_many_shells: "as many shells run as may run; close one",
  too_many_viewers: "the shell has as many viewers as it may have",
  shell_busy: "the shell has not read what was typed before; try again later",
  internal_error: "turnd failed at this request; its log says why",
  shutting_down: "turnd is shutting down; try again later",
  resources_exhausted: "the system has no process, memory or file descriptor left; try again later",
  storage_full: "the disk has less space left than TURND_MIN_FREE_BYTES",
  bad_proxy_port: "the port must be 1 to 65535",
  proxy_port_forbidden: "port 8080 is not one that may be reached from outside",
  upstream_unreachable: "nothing listens on port 3000",
  upstream_timeout: "what listens on port 3000 did not answer in time",
  turnd_unavailable: "turnd does not answer; try again later",
  terminal_unavailable: "the terminal does not answer; try again later",
};

const EXTRAS: Readonly<Partial<Record<ProblemCode, Omit<Problem["detail"], "code" | "message">>>> = {
  invalid_request: { fields: [{ path: "executor", message: "needed unless session_id names a session" }] },
  cursor_beyond_end: { turn_id: TURN, last_seq: 12 },
};

/** The body of a refusal with this code. */
export function problemExample(code: ProblemCode): Problem {
  return { detail: { code, message: MESSAGES[code], ...EXTRAS[code] } };
}
