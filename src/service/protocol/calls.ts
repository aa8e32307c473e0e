import { z } from "zod";
import { ToolApprovalMode } from "./agents.ts";
import { Id, jsonObject } from "./common.ts";
import { Evaluation, Interrupt, Query, QueuePolicy, RunResult, Usage } from "./runs.ts";

/** A message as OpenAI clients send it; unknown fields are ignored. */
const Message = z.looseObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() })).max(1_000), z.null()]).optional(),
});

/** Unknown top-level fields (`temperature`, …) are ignored, as OpenAI clients send them. */
export const AgentCallBody = z
  .looseObject({
    agent_slug: z.string().min(1).max(64).optional(),
    messages: z.array(Message).min(1).max(1_000),
    thread_id: Id.nullish(),
    request_id: Id.nullish(),
    model_spec: z.string().max(200).nullish(),
    tool_approval_mode: ToolApprovalMode.nullish(),
    agent_call_meta: jsonObject(16_384).nullish(),
    async_mode: z.boolean().default(false),
    queue_policy: QueuePolicy.nullish(),
    stream: z.boolean().nullish(),
    wait_seconds: z.number().min(1).optional(),
  })
  .meta({ id: "AgentCallBody" });
export type AgentCallBody = z.infer<typeof AgentCallBody>;

const Answer = z.strictObject({ role: z.literal("assistant"), content: z.string(), refusal: z.null() });

export const AgentCall = z
  .strictObject({
    run_id: z.string().nullable(),
    agent_run_id: z.string().nullable(),
    agent_slug: z.string(),
    thread_id: z.string(),
    request_id: z.string(),
    status: z.string(),
    output: z.string(),
    choices: z.array(
      z.strictObject({
        index: z.literal(0),
        message: Answer,
        messages: z.array(Answer),
        finish_reason: z.enum(["stop", "failed", "cancelled", "interrupted"]).nullable(),
        logprobs: z.null(),
      }),
    ),
    usage: Usage.nullable(),
    error: z.looseObject({ type: z.string(), message: z.string() }).optional(),
    interrupt: Interrupt.optional(),
    stream_url: z.string().optional(),
    request_events_url: z.string().optional(),
  })
  .meta({ id: "AgentCall" });
export type AgentCall = z.infer<typeof AgentCall>;

export const CallResultBody = z
  .strictObject({ run_id: z.string().min(1).max(64), agent_slug: z.string().min(1).max(64).nullish() })
  .meta({ id: "CallResultBody" });

export const EvaluationBody = z
  .strictObject({
    query: Query,
    agent_slug: z.string().min(1).max(64),
    thread_id: Id.nullish(),
    evaluation: Evaluation.nullish(),
    image_content: z.string().nullish(),
    model_spec: z.string().max(200).nullish(),
    tool_approval_mode: ToolApprovalMode.nullish(),
    include_trajectory_summary: z.boolean().default(false),
    meta: z.looseObject({ request_id: Id.optional() }).nullish(),
  })
  .meta({ id: "EvaluationBody" });
export type EvaluationBody = z.infer<typeof EvaluationBody>;

export const TrajectorySummary = z
  .strictObject({
    schema_version: z.literal(1),
    source: z.literal("run_events"),
    event_count: z.int(),
    events_truncated: z.boolean(),
    event_range: z.strictObject({ first_seq: z.int().nullable(), last_seq: z.int().nullable() }),
    tool_call_count: z.int(),
    tool_error_count: z.int(),
    error_count: z.int(),
    interrupt_count: z.int(),
    tools: z.array(z.strictObject({ name: z.string(), call_count: z.int(), error_count: z.int() })),
  })
  .meta({ id: "TrajectorySummary" });
export type TrajectorySummary = z.infer<typeof TrajectorySummary>;

export const EvaluationResult = z
  .union([
    RunResult.extend({
      trajectory_summary: TrajectorySummary.nullish().describe("Null when the run's events were deleted."),
    }),
    AgentCall,
  ])
  .meta({ id: "EvaluationResult" });
