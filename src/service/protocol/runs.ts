import { z } from "zod";
import { FailureCode, MAX_INPUT_TEXT_BYTES, UserAction } from "../../turnd/protocol/index.ts";
import { ToolApprovalMode } from "./agents.ts";
import { Id, jsonObject, Page, Time, Uuid } from "./common.ts";

/** Why a run did not complete: turnd's codes, and the service's own. */
export const FailureType = z
  .enum([
    ...FailureCode.options,
    "executor_lost",
    "executor_unauthorized",
    "executor_unreachable",
    "sandbox_start_failed",
    "sandbox_limit",
    "attempts_exhausted",
    "agent_unavailable",
  ])
  .meta({ id: "FailureType" });
export type FailureType = z.infer<typeof FailureType>;

export const RunError = z
  .strictObject({ type: FailureType, message: z.string(), retryable: z.boolean(), user_action: UserAction })
  .meta({ id: "RunError" });
export type RunError = z.infer<typeof RunError>;

export const RunStatus = z
  .enum(["pending", "running", "cancel_requested", "completed", "failed", "cancelled", "interrupted"])
  .meta({ id: "RunStatus" });
export type RunStatus = z.infer<typeof RunStatus>;
/** A run that has not ended. */
export const OPEN_RUN_STATUSES = ["pending", "running", "cancel_requested"] as const satisfies readonly RunStatus[];
export const RequestStatus = z
  .enum(["queued", "dispatched", "rejected", "cancelled", "failed"])
  .meta({ id: "RequestStatus" });
export type RequestStatus = z.infer<typeof RequestStatus>;
export const QueuePolicy = z.enum(["enqueue", "reject", "steer"]).meta({ id: "QueuePolicy" });
export type QueuePolicy = z.infer<typeof QueuePolicy>;

export const Usage = z
  .strictObject({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    total_tokens: z.int(),
    prompt_tokens_details: z.strictObject({ cached_tokens: z.int() }),
    completion_tokens_details: z.strictObject({ reasoning_tokens: z.int() }),
    cost_usd: z.number().optional(),
  })
  .meta({ id: "RunUsage" });
export type Usage = z.infer<typeof Usage>;

export const Evaluation = z
  .strictObject({
    dataset_name: z.string().max(200).optional(),
    dataset_item_id: z.string().max(200).optional(),
    experiment_name: z.string().max(200).optional(),
  })
  .meta({ id: "Evaluation" });
export type Evaluation = z.infer<typeof Evaluation>;

/** The text of a user's message; may be empty where there is an image or a resume. */
export const Query = z
  .string()
  .refine((text) => Buffer.byteLength(text) <= MAX_INPUT_TEXT_BYTES, `at most ${MAX_INPUT_TEXT_BYTES} bytes of UTF-8`);

export const TimeoutMs = z.int().min(0).max(86_400_000);

export const SubmitRunBody = z
  .strictObject({
    query: Query.nullish(),
    agent_slug: z.string().min(1).max(64),
    thread_id: Id,
    meta: jsonObject(16_384)
      .nullish()
      .meta({ description: "`request_id` identifies the request; the rest is kept as it is." }),
    image_content: z.string().nullish(),
    model_spec: z.string().max(200).nullish(),
    tool_approval_mode: ToolApprovalMode.nullish(),
    queue_policy: QueuePolicy.nullish(),
    resume: z.record(z.string(), z.unknown()).nullish(),
    created_by_run_id: Uuid.nullish(),
    timeout_ms: TimeoutMs.nullish(),
  })
  .meta({ id: "SubmitRunBody", description: "null is absent." });
export type SubmitRunBody = z.infer<typeof SubmitRunBody>;

/** One decision about a plan. */
export const HumanDecisions = z.strictObject({
  decisions: z
    .array(z.strictObject({ type: z.enum(["approve", "reject"]), message: z.string().max(100_000).optional() }))
    .length(1),
});

export const Interrupt = z
  .strictObject({
    reason: z.enum(["human_approval", "tool_approval", "ask_user_question"]),
    plan: z.strictObject({ text: z.string(), entries: z.array(z.unknown()).optional() }).optional(),
  })
  .meta({ id: "Interrupt" });
export type Interrupt = z.infer<typeof Interrupt>;

const RequestError = z.looseObject({ code: z.string(), message: z.string() });

export const Submission = z
  .strictObject({
    run_id: z.string().nullable(),
    request_id: z.string(),
    thread_id: z.string(),
    status: RequestStatus,
    run_status: RunStatus.optional(),
    queue_policy: QueuePolicy,
    queue_position: z.int().nullable(),
    stream_url: z.string().optional(),
    request_events_url: z.string().optional(),
    error: RequestError.optional(),
  })
  .meta({ id: "Submission" });
export type Submission = z.infer<typeof Submission>;

export const Run = z
  .strictObject({
    run_id: z.string(),
    request_id: z.string(),
    thread_id: z.string(),
    agent_slug: z.string(),
    status: RunStatus,
    kind: z.enum(["chat", "resume"]),
    source: z.enum(["chat", "agent_call", "evaluation"]),
    created_by_run_id: z.string().nullable(),
    blocking: z.boolean(),
    released_by: z.string().nullable(),
    attempt: z.int(),
    last_seq: z.int(),
    model_spec: z.string().nullable(),
    tool_approval_mode: ToolApprovalMode,
    error: RunError.nullable(),
    interrupt: Interrupt.nullable(),
    usage: Usage.nullable(),
    stream_url: z.string(),
    created_at: Time,
    started_at: Time.nullable(),
    ended_at: Time.nullable(),
  })
  .meta({ id: "Run" });
export type Run = z.infer<typeof Run>;

export const RunRequest = z
  .strictObject({
    request_id: z.string(),
    user_id: z.int(),
    agent_slug: z.string(),
    thread_id: z.string(),
    source: z.enum(["chat", "agent_call", "evaluation"]),
    queue_policy: QueuePolicy,
    status: RequestStatus,
    queue_position: z.int().nullable(),
    run_id: z.string().nullable(),
    dispatched_run_id: z.string().nullable(),
    run_status: RunStatus.nullable(),
    error: RequestError.nullable(),
    created_at: Time,
    dispatched_at: Time.nullable(),
    updated_at: Time,
    stream_url: z.string().optional(),
    request_events_url: z.string().optional(),
  })
  .meta({ id: "RunRequest" });
export type RunRequest = z.infer<typeof RunRequest>;

export const RunResult = z
  .strictObject({
    run_id: z.string(),
    agent_run_id: z.string(),
    request_id: z.string(),
    thread_id: z.string(),
    agent_slug: z.string(),
    status: RunStatus,
    final: z.boolean(),
    output: z.string(),
    usage: Usage.nullable(),
    error: RunError.nullable(),
    interrupt: Interrupt.nullable(),
    evaluation: Evaluation.optional(),
    created_at: Time,
    started_at: Time.nullable(),
    ended_at: Time.nullable(),
    duration_ms: z.int().nullable(),
    last_seq: z.int(),
  })
  .meta({ id: "RunResult" });
export type RunResult = z.infer<typeof RunResult>;

export const RunPath = z.strictObject({ run_id: z.string().min(1).max(64) });
export const RequestPath = z.strictObject({ request_id: Id });
export const RunListQuery = z.strictObject({
  thread_id: Id.optional(),
  status: RunStatus.optional(),
  before: z.uuid().optional(),
  limit: Page.limit,
});
export const EventsQuery = z.strictObject({
  after_seq: z.string().optional(),
  verbose: z.enum(["true", "false"]).optional(),
  format: z.enum(["json", "sse"]).optional(),
  limit: Page.limit,
});
export const RunAnswer = z.strictObject({ run: Run }).meta({ id: "RunAnswer" });
export const RunList = z.strictObject({ runs: z.array(Run) }).meta({ id: "RunList" });
export const RequestAnswer = z.strictObject({ request: RunRequest }).meta({ id: "RequestAnswer" });
export const RequestCancelled = z
  .strictObject({ request_id: z.string(), status: RequestStatus })
  .meta({ id: "RequestCancelled" });
export const ActiveRun = z.strictObject({ run: Run.nullable() }).meta({ id: "ActiveRun" });
export const Continued = z
  .strictObject({ status: z.literal("dispatched"), request_id: z.string(), run_id: z.string() })
  .meta({ id: "Continued" });
export type Continued = z.infer<typeof Continued>;
