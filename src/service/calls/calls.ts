import { createHash } from "node:crypto";
import { v7 as uuid7 } from "uuid";
import type { AgentCall, AgentCallBody, EvaluationBody, TrajectorySummary } from "../protocol/calls.ts";
import type { RunEvent } from "../protocol/events.ts";
import { ApiProblem, InputProblem } from "../protocol/problems.ts";
import type { RunResult } from "../protocol/runs.ts";
import type { Caller } from "../auth/caller.ts";
import type { RunEvents } from "../runs/read/events.ts";
import { assertImagesFit, readImage } from "../runs/submit/images.ts";
import type { Intent, AcceptedRequest } from "../runs/submit/intent.ts";
import type { Runs } from "../runs/runs.ts";
import { type RunDetails } from "../runs/read/find-runs.ts";
import { requestEventsUrl, showResult, streamUrl } from "../runs/read/run-view.ts";
import { readMessages } from "./messages.ts";
import { SUMMARY_EVENTS, summarize } from "./trajectory.ts";

export interface CallsOptions {
  readonly runs: Runs;
  readonly events: RunEvents;
  /** Longest wait of a synchronous call. */
  readonly syncWaitMs: number;
}

export interface CallContext {
  readonly caller: Caller;
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  /** Aborts when the caller hangs up or the service stops; the run goes on. */
  readonly signal: AbortSignal;
}

/** Agent-calls and evaluations: shapes over runs, no second path. */
export type Calls = ReturnType<typeof createCalls>;

export function createCalls({ runs, events, syncWaitMs }: CallsOptions) {
  /** @throws {ApiProblem} run_timeout with the run as it is */
  async function waitForEnd(caller: Caller, runId: string, waitMs: number, signal: AbortSignal): Promise<RunDetails> {
    const late = AbortSignal.timeout(Math.min(waitMs, syncWaitMs));
    await events.waitForEnd(runId, AbortSignal.any([late, signal]));
    const details = await runs.find(caller, runId);
    if (details.run.ended_at !== null) return details;
    if (signal.aborted)
      throw new ApiProblem(
        "shutting_down",
        "the service stops waiting; the run goes on",
        { run: showResult(details) },
        5,
      );
    throw new ApiProblem("run_timeout", "the run goes on; read its result later", { run: showResult(details) });
  }

  async function call(body: AgentCallBody, context: CallContext): Promise<AgentCall> {
    const { caller } = context;
    const intent = readCall(body, context);
    const accepted = await runs.accept(caller, intent);
    if (body.async_mode || accepted.run === undefined) return showAccepted(accepted, intent.agentSlug);
    return showCall(
      await waitForEnd(
        caller,
        accepted.run.id,
        body.wait_seconds === undefined ? syncWaitMs : body.wait_seconds * 1_000,
        context.signal,
      ),
    );
  }

  async function result(caller: Caller, runId: string, agentSlug: string | undefined): Promise<AgentCall> {
    const details = await runs.find(caller, runId);
    if (agentSlug !== undefined && details.manifest.agent_slug !== agentSlug) {
      throw new ApiProblem("agent_mismatch", `the run is one of ${details.manifest.agent_slug}`);
    }
    return showCall(details);
  }

  async function evaluate(
    body: EvaluationBody,
    context: CallContext,
  ): Promise<(RunResult & { trajectory_summary?: TrajectorySummary | null }) | AgentCall> {
    const { caller } = context;
    const intent = readEvaluation(body, context);
    const accepted = await runs.accept(caller, intent);
    if (accepted.run === undefined) return showAccepted(accepted, intent.agentSlug);
    const details = await waitForEnd(caller, accepted.run.id, syncWaitMs, context.signal);
    const shown = showResult(details);
    if (!body.include_trajectory_summary) return shown;
    return { ...shown, trajectory_summary: await summaryOf(details) };
  }

  /** Null where the run's events were deleted: its result is kept longer. */
  async function summaryOf({ run, threadId, request }: RunDetails): Promise<TrajectorySummary | null> {
    const source = { runId: run.id, threadId, requestId: request.request_id };
    try {
      const first: RunEvent[] = [];
      for (;;) {
        const page = await events.page(source, first.length, SUMMARY_EVENTS - first.length);
        first.push(...page.events);
        const isWhole = first.length >= Math.min(SUMMARY_EVENTS, page.lastSeq);
        if (isWhole) return summarize(first, page.lastSeq);
      }
    } catch (error) {
      if (error instanceof ApiProblem && error.code === "events_expired") return null;
      throw error;
    }
  }

  return { call, result, evaluate };
}

/** @throws {ApiProblem} for what an agent-call cannot do */
function readCall(body: AgentCallBody, { caller, requestId: given, traceparent }: CallContext): Intent {
  if (body.stream === true)
    throw new InputProblem(
      "stream_unsupported",
      ["body", "stream"],
      "agent-calls do not stream: leave stream out, or follow the run's events",
    );
  if (body.agent_slug === undefined)
    throw new InputProblem("agent_slug_required", ["body", "agent_slug"], "agent_slug names the agent to call");
  if (body.agent_call_meta !== undefined && body.agent_call_meta !== null && "context" in body.agent_call_meta) {
    throw new InputProblem(
      "context_override",
      ["body", "agent_call_meta", "context"],
      "agent_call_meta must not carry a context",
    );
  }
  const policy = body.queue_policy ?? (body.async_mode ? "enqueue" : "reject");
  if (body.async_mode ? policy === "steer" : policy !== "reject") {
    throw new InputProblem(
      "queue_policy_inapplicable",
      ["body", "queue_policy"],
      body.async_mode ? "asynchronous calls enqueue or reject" : "synchronous calls reject only",
    );
  }
  const requestId = given ?? uuid7();
  return {
    source: "agent_call",
    requestId,
    ...threadOf(caller, body.agent_slug, requestId, body.thread_id),
    agentSlug: body.agent_slug,
    input: readMessages(body.messages),
    options: {
      ...(typeof body.model_spec === "string" ? { model_spec: body.model_spec } : {}),
      ...(typeof body.tool_approval_mode === "string" ? { tool_approval_mode: body.tool_approval_mode } : {}),
      ...(body.agent_call_meta === undefined || body.agent_call_meta === null ? {} : { meta: body.agent_call_meta }),
    },
    queuePolicy: policy,
    traceparent,
  };
}

function readEvaluation(body: EvaluationBody, { caller, requestId: given, traceparent }: CallContext): Intent {
  const images =
    typeof body.image_content === "string" && body.image_content !== "" ? [readImage(body.image_content)] : [];
  assertImagesFit(images);
  if (body.query.trim() === "" && images.length === 0)
    throw new InputProblem("query_required", ["body", "query"], "query is needed, or an image");
  const requestId = given ?? uuid7();
  return {
    source: "evaluation",
    requestId,
    ...threadOf(caller, body.agent_slug, requestId, body.thread_id),
    agentSlug: body.agent_slug,
    input: { query: body.query, images },
    options: {
      ...(typeof body.model_spec === "string" ? { model_spec: body.model_spec } : {}),
      ...(typeof body.tool_approval_mode === "string" ? { tool_approval_mode: body.tool_approval_mode } : {}),
      ...(body.evaluation === undefined || body.evaluation === null ? {} : { evaluation: body.evaluation }),
    },
    queuePolicy: "reject",
    traceparent,
  };
}

/** Without a thread, one for each request: so one request id is idempotent from end to end. */
function threadOf(
  caller: Caller,
  slug: string,
  requestId: string,
  threadId: string | null | undefined,
): { threadId: string; makesThread: true } {
  if (typeof threadId === "string") return { threadId, makesThread: true };
  const digest = createHash("sha256")
    .update(JSON.stringify([caller.userId, slug, requestId]))
    .digest("hex");
  return { threadId: `invocation_${digest.slice(0, 40)}`, makesThread: true };
}

/** A run as OpenAI clients read it. */
function showCall(details: RunDetails): AgentCall {
  const result = showResult(details);
  const { error, interrupt, usage } = result;
  return {
    run_id: result.run_id,
    agent_run_id: result.run_id,
    agent_slug: result.agent_slug,
    thread_id: result.thread_id,
    request_id: result.request_id,
    status: result.status,
    output: result.output,
    choices: choicesOf(result.output, finishReason(result)),
    usage,
    ...(error === null ? {} : { error }),
    ...(interrupt === null ? {} : { interrupt }),
  };
}

/** What was accepted and has not been waited for. */
function showAccepted({ request, run, thread }: AcceptedRequest, agentSlug: string): AgentCall {
  const stored = request.error;
  const isRefused = typeof stored === "object" && stored !== null && "code" in stored && "message" in stored;
  return {
    run_id: run?.id ?? null,
    agent_run_id: run?.id ?? null,
    agent_slug: agentSlug,
    thread_id: thread.id,
    request_id: request.request_id,
    status: run?.status ?? request.status,
    output: run?.output ?? "",
    choices: choicesOf(run?.output ?? "", null),
    usage: null,
    ...(isRefused ? { error: { ...stored, type: String(stored.code), message: String(stored.message) } } : {}),
    ...(run === undefined ? {} : { stream_url: streamUrl(run.id) }),
    ...(request.status === "queued" ? { request_events_url: requestEventsUrl(request.request_id) } : {}),
  };
}

function choicesOf(
  content: string,
  finish_reason: AgentCall["choices"][number]["finish_reason"],
): AgentCall["choices"] {
  // As OpenAI's types have it: neither is ever anything else here.
  const message = { role: "assistant" as const, content, refusal: null };
  return [{ index: 0, message, messages: [message], finish_reason, logprobs: null }];
}

function finishReason({ status }: RunResult): AgentCall["choices"][number]["finish_reason"] {
  if (status === "completed") return "stop";
  return status === "failed" || status === "cancelled" || status === "interrupted" ? status : null;
}
