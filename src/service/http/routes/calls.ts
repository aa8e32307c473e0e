import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { AgentCall, AgentCallBody, CallResultBody, EvaluationBody, EvaluationResult } from "../../protocol/calls.ts";
import { ApiProblem, BUSY_SECONDS } from "../../protocol/problems.ts";
import type { CallContext, Calls } from "../../calls/calls.ts";
import { callerOf } from "../callers.ts";
import { idempotencyKey, idempotent } from "../idempotency.ts";
import { refusals } from "../refusals.ts";
import { readTraceparent } from "../../../kit/http/traceparent.ts";
import { whileWanted } from "../abort-on-disconnect.ts";

const tags = ["agent-calls"];
const of = [
  ...(["agent_not_found", "thread_not_found", "agent_mismatch", "request_id_conflict", "run_interrupted"] as const),
  ...(["model_unknown", "image_invalid", "query_required", "queue_policy_inapplicable", "queue_full"] as const),
  ...(["quota_exceeded", "run_timeout", "shutting_down"] as const),
] as const;

/** Calls with OpenAI-style messages, and evaluation runs. */
export const callRoutes: FastifyPluginAsyncZod<{ calls: Calls; closing: AbortSignal }> = async (
  app,
  { calls, closing },
) => {
  const call = {
    tags,
    operationId: "callAgent",
    summary: "Call an agent with OpenAI-style messages",
    description:
      "Waits for the end, unless `async_mode`; beyond the wait 504 with `detail.run`, and the run goes on. The answer's `choices` are those of a chat completion.",
    body: AgentCallBody,
    response: {
      200: AgentCall,
      ...refusals(
        ...of,
        "stream_unsupported",
        "context_override",
        "no_user_message",
        "content_part_unsupported",
        "agent_slug_required",
      ),
    },
  };
  app.post("/api/agent-invocation/agent-call/runs", { ...idempotent, schema: call }, async (request, reply) => {
    const answer = await orLocation(
      reply,
      calls.call(request.body, contextOf(request, reply, request.body.request_id ?? undefined, closing)),
    );
    if (answer.status === "rejected") void reply.header("retry-after", BUSY_SECONDS);
    return answer;
  });

  const result = {
    tags,
    operationId: "getCallResult",
    summary: "Read the result of a run in the form of an agent-call",
    description: "Any run of the caller's; before its end with its present status.",
    body: CallResultBody,
    response: { 200: AgentCall, ...refusals("run_not_found", "agent_mismatch") },
  };
  app.post("/api/agent-invocation/agent-call/runs/result", { schema: result }, async (request) =>
    calls.result(callerOf(request), request.body.run_id, request.body.agent_slug ?? undefined),
  );

  const evaluate = {
    tags: ["evaluations"],
    operationId: "runEvaluation",
    summary: "Run one sample of an evaluation and wait for its result",
    description:
      "Answers the run's result, and a summary of its first 500 events if wanted; null once the events were deleted.",
    body: EvaluationBody,
    response: { 200: EvaluationResult, ...refusals(...of) },
  };
  app.post("/api/agent-invocation/eval/runs", { ...idempotent, schema: evaluate }, async (request, reply) => {
    const answer = await orLocation(
      reply,
      calls.evaluate(request.body, contextOf(request, reply, request.body.meta?.request_id, closing)),
    );
    if (answer.status === "rejected") void reply.header("retry-after", BUSY_SECONDS);
    return answer;
  });
};

function contextOf(
  request: FastifyRequest,
  reply: FastifyReply,
  inBody: string | undefined,
  closing: AbortSignal,
): CallContext {
  return {
    caller: callerOf(request),
    requestId: idempotencyKey(request, inBody),
    traceparent: readTraceparent(request.headers.traceparent),
    signal: whileWanted(reply, closing),
  };
}

/** Where a run's result will be, when the wait was too short. */
async function orLocation<T>(reply: FastifyReply, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiProblem && error.code === "run_timeout") {
      const { run } = error.extras;
      if (typeof run === "object" && run !== null && "run_id" in run)
        void reply.header("location", `/api/agent/runs/${String(run.run_id)}/result`);
    }
    throw error;
  }
}
