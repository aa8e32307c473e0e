import * as z from "zod";
import type { NewerWord } from "./newer-words.ts";

/** Why a request was refused: the closed list. Source: docs/design.md §5. */
export const ProblemCode = z
  .enum([
    "invalid_json",
    "unauthorized",
    "forbidden_origin",
    "turn_not_found",
    "session_not_found",
    "request_not_found",
    "diff_not_found",
    "approval_not_found",
    "executor_not_found",
    "route_not_found",
    "shell_not_found",
    "file_not_found",
    "file_forbidden",
    "file_type_mismatch",
    "directory_not_empty",
    "precondition_failed",
    "range_not_satisfiable",
    "invalid_path",
    "archive_too_large",
    "too_many_transfers",
    "transfer_failed",
    "session_busy",
    "request_id_conflict",
    "turn_not_ended",
    "turn_ended",
    "approval_resolved",
    "executor_mismatch",
    "session_exists",
    "shell_ended",
    "body_too_large",
    "unsupported_media_type",
    "cursor_beyond_end",
    "invalid_request",
    "bad_cursor",
    "workspace_unusable",
    "mode_unsupported",
    "queue_full",
    "too_many_streams",
    "too_many_shells",
    "too_many_viewers",
    "shell_busy",
    "internal_error",
    "shutting_down",
    "resources_exhausted",
    "storage_full",
    // Of the image's front only: sandbox/nginx.conf.
    "bad_proxy_port",
    "proxy_port_forbidden",
    "upstream_unreachable",
    "upstream_timeout",
    "turnd_unavailable",
    "terminal_unavailable",
  ])
  .meta({ id: "ProblemCode", description: "Why a request was refused." });
export type ProblemCode = z.infer<typeof ProblemCode>;

/** The one table from code to HTTP status. */
export const PROBLEM_STATUS = {
  invalid_json: 400,
  unauthorized: 401,
  forbidden_origin: 403,
  turn_not_found: 404,
  session_not_found: 404,
  request_not_found: 404,
  diff_not_found: 404,
  approval_not_found: 404,
  executor_not_found: 404,
  route_not_found: 404,
  shell_not_found: 404,
  file_not_found: 404,
  file_forbidden: 403,
  file_type_mismatch: 409,
  directory_not_empty: 409,
  precondition_failed: 412,
  range_not_satisfiable: 416,
  invalid_path: 422,
  archive_too_large: 413,
  too_many_transfers: 429,
  transfer_failed: 503,
  session_busy: 409,
  request_id_conflict: 409,
  turn_not_ended: 409,
  turn_ended: 409,
  approval_resolved: 409,
  executor_mismatch: 409,
  session_exists: 409,
  shell_ended: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  cursor_beyond_end: 416,
  invalid_request: 422,
  bad_cursor: 422,
  workspace_unusable: 422,
  mode_unsupported: 422,
  queue_full: 429,
  too_many_streams: 429,
  too_many_shells: 429,
  too_many_viewers: 429,
  shell_busy: 429,
  internal_error: 500,
  shutting_down: 503,
  resources_exhausted: 503,
  storage_full: 507,
  bad_proxy_port: 400,
  proxy_port_forbidden: 403,
  upstream_unreachable: 502,
  upstream_timeout: 504,
  turnd_unavailable: 503,
  terminal_unavailable: 503,
} as const satisfies Readonly<Record<ProblemCode, number>>;

/** Seconds after which what was refused may be tried again: the one table of `Retry-After`. */
const RETRY_AFTER_SECONDS: Readonly<Partial<Record<ProblemCode, number>>> = {
  too_many_transfers: 1,
  transfer_failed: 5,
  queue_full: 5,
  too_many_streams: 5,
  too_many_shells: 5,
  too_many_viewers: 5,
  shell_busy: 1,
  shutting_down: 5,
  resources_exhausted: 5,
};

/** Whether a code is of the list. */
export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEM_STATUS, code);
}

/** What is wrong with one field of a request. */
const ProblemField = z.strictObject({
  path: z.string().describe("The field: its path in the body, or after `query.`, `path.` or `header.`."),
  message: z.string().describe("What is wrong with it, or what is allowed."),
});

/** The body of every refusal. `fields` has one entry per field of a request that does not validate. */
export const Problem = z
  .strictObject({
    detail: z
      .looseObject({
        code: ProblemCode,
        message: z.string().meta({ description: "What is wrong and what to change." }),
        fields: z.array(ProblemField).optional().describe("Each field that does not validate."),
        turn_id: z.string().optional().describe("The turn concerned."),
        last_seq: z.int().nonnegative().optional().describe("With `cursor_beyond_end`: the last event there is."),
        next_offset: z
          .int()
          .nonnegative()
          .optional()
          .describe("With `cursor_beyond_end`: the shell's output ends before it."),
        turn: z.unknown().optional().meta({ description: "A snapshot of the turn concerned." }),
      })
      .describe("The refusal."),
  })
  .meta({ id: "Problem", description: "The body of every refusal." });
export type Problem = z.infer<typeof Problem>;

/** What a problem may carry besides its code and message. */
export interface ProblemExtras extends Omit<Problem["detail"], "code" | "message" | "fields"> {
  readonly fields?: readonly z.infer<typeof ProblemField>[];
}

/** A refusal on its way to the client: thrown by the rooms that decide it, rendered in one place in `http/`. */
export class ProblemError extends Error {
  /** One of the closed list, where turnd itself refuses; a client may be refused by a newer turnd. */
  readonly code: ProblemCode | NewerWord;
  /** The HTTP status. */
  readonly status: number;
  readonly extras: Partial<ProblemExtras>;
  /** Seconds, for `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ProblemCode, message: string, extras: Partial<ProblemExtras> = {}) {
    super(message);
    this.name = "ProblemError";
    this.code = code;
    this.status = PROBLEM_STATUS[code];
    this.extras = extras;
    this.retryAfterSeconds = RETRY_AFTER_SECONDS[code];
  }
}
