/** The one table from a problem's code to its HTTP status; the closed list of why a call is refused. */
export const PROBLEM_STATUS = {
  invalid_json: 400,
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  access_denied: 400,
  unsupported_file_type: 400,
  empty_file: 400,
  file_required: 400,
  filename_invalid: 400,
  object_unknown: 400,
  content_type_unsupported: 400,
  too_many_file_ids: 400,
  retrieval_only: 400,
  unauthorized: 401,
  invalid_credentials: 401,
  forbidden: 403,
  role_required: 403,
  login_required: 403,
  manage_required: 403,
  department_mismatch: 403,
  url_fetch_disabled: 403,
  forbidden_origin: 403,
  forbidden_host: 403,
  init_token_invalid: 403,
  route_not_found: 404,
  agent_not_found: 404,
  thread_not_found: 404,
  run_not_found: 404,
  request_not_found: 404,
  key_not_found: 404,
  user_not_found: 404,
  department_not_found: 404,
  task_not_found: 404,
  webhook_not_found: 404,
  kb_not_found: 404,
  file_not_found: 404,
  cli_session_not_found: 404,
  already_initialized: 409,
  username_taken: 409,
  last_superadmin: 409,
  department_in_use: 409,
  department_name_taken: 409,
  cli_session_decided: 409,
  key_revoked: 409,
  intent_conflict: 409,
  master_key_rotated: 409,
  slug_taken: 409,
  stale_revision: 409,
  agent_in_use: 409,
  thread_busy: 409,
  agent_mismatch: 409,
  request_id_conflict: 409,
  run_interrupted: 409,
  run_not_steerable: 409,
  steer_already_pending: 409,
  run_not_interrupted: 409,
  resume_superseded: 409,
  request_already_dispatched: 409,
  steer_in_progress: 409,
  request_not_queued: 409,
  queue_empty: 409,
  run_active: 409,
  task_not_ended: 409,
  webhook_limit: 409,
  kb_name_taken: 409,
  duplicate_content: 409,
  file_busy: 409,
  file_state_conflict: 409,
  file_not_parsed: 409,
  embedding_not_configured: 409,
  embedding_model_fixed: 409,
  events_expired: 410,
  body_too_large: 413,
  file_too_large: 413,
  unsupported_media_type: 415,
  cursor_beyond_end: 416,
  bad_cursor: 422,
  model_unknown: 422,
  image_invalid: 422,
  resume_invalid: 422,
  query_required: 422,
  stream_unsupported: 422,
  context_override: 422,
  no_user_message: 422,
  content_part_unsupported: 422,
  queue_policy_inapplicable: 422,
  agent_slug_required: 422,
  share_config_invalid: 422,
  mode_unsupported: 422,
  password_invalid: 422,
  idempotency_key_mismatch: 422,
  url_refused: 422,
  embedding_model_unknown: 422,
  connector_invalid: 422,
  pattern_invalid: 422,
  pattern_too_expensive: 422,
  login_locked: 423,
  rate_limited: 429,
  quota_exceeded: 429,
  queue_full: 429,
  too_many_streams: 429,
  too_many_uploads: 429,
  too_many_searches: 429,
  too_many_codes: 429,
  internal_error: 500,
  embedding_failed: 502,
  url_fetch_failed: 502,
  connector_failed: 502,
  connector_auth_failed: 502,
  connector_not_found: 502,
  connector_bad_answer: 502,
  shutting_down: 503,
  not_ready: 503,
  connector_rate_limited: 503,
  run_timeout: 504,
  connector_timeout: 504,
  storage_full: 507,
} as const;

export type ProblemCode = keyof typeof PROBLEM_STATUS;

/** Whether a code is of the list. */
export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEM_STATUS, code);
}

/** Seconds after which a busy thread may take a request; a rejected submission asks for it too, with its 200. */
export const BUSY_SECONDS = 5;

/** Seconds after which what was refused may be tried again: the one table of `Retry-After`, where nothing else is known. */
const RETRY_AFTER_SECONDS: Readonly<Partial<Record<ProblemCode, number>>> = {
  thread_busy: BUSY_SECONDS,
  rate_limited: 5,
  queue_full: 5,
  too_many_streams: 5,
  too_many_uploads: 5,
  too_many_searches: 5,
  shutting_down: 5,
  not_ready: 5,
  connector_rate_limited: 10,
};

/** What a problem carries besides its code and message. */
export type ProblemExtras = Readonly<Record<string, unknown>>;

/** A refusal on its way to the caller: thrown by the room that decides it, rendered in one place in `http/`. */
export class ApiProblem extends Error {
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;
  /** Seconds, for `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ProblemCode, message: string, extras: ProblemExtras = {}, retryAfterSeconds?: number) {
    super(message);
    this.name = "ApiProblem";
    this.code = code;
    this.extras = extras;
    this.retryAfterSeconds = retryAfterSeconds ?? RETRY_AFTER_SECONDS[code];
  }
}

/** The codes of what is wrong in the request itself. */
export type InputProblemCode = {
  [C in ProblemCode]: (typeof PROBLEM_STATUS)[C] extends 422 ? C : never;
}[ProblemCode];

/** A refusal of a value in the request: `loc` is where the value is, as in a {@link FieldError}. */
export class InputProblem extends ApiProblem {
  constructor(code: InputProblemCode, loc: FieldError["loc"], message: string, extras: ProblemExtras = {}) {
    super(code, message, { loc, ...extras });
    this.name = "InputProblem";
  }
}

/** A part of a request that does not validate. */
export interface FieldError {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** A request that does not validate: 422 with one entry a field. */
export class ValidationProblem extends Error {
  readonly fields: readonly FieldError[];

  constructor(fields: readonly FieldError[]) {
    super(fields.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; "));
    this.name = "ValidationProblem";
    this.fields = fields;
  }
}
