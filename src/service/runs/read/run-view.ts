import { Evaluation, Interrupt, RunError, type Run, type RunResult } from "../../protocol/runs.ts";
import { showUsage } from "../state/usage.ts";
import type { RunDetails } from "./find-runs.ts";

export function streamUrl(runId: string): string {
  return `/api/agent/runs/${runId}/events`;
}

export function requestEventsUrl(requestId: string): string {
  return `/api/agent/requests/${encodeURIComponent(requestId)}/events`;
}

export function showRun({ run, request, threadId, manifest }: RunDetails): Run {
  const isOpen = run.ended_at === null;
  return {
    run_id: run.id,
    request_id: request.request_id,
    thread_id: threadId,
    agent_slug: manifest.agent_slug,
    status: run.status,
    kind: request.kind,
    source: request.source,
    created_by_run_id: run.parent_run_id,
    blocking: isOpen || (run.status === "interrupted" && run.released_at === null),
    released_by: run.released_by,
    attempt: run.attempt,
    last_seq: run.last_seq,
    model_spec: manifest.model_spec,
    tool_approval_mode: manifest.tool_approval_mode,
    error: run.error === null ? null : RunError.parse(run.error),
    interrupt: run.interrupt === null ? null : Interrupt.parse(run.interrupt),
    usage: showUsage(run.usage),
    stream_url: streamUrl(run.id),
    created_at: run.created_at.toISOString(),
    started_at: run.started_at?.toISOString() ?? null,
    ended_at: run.ended_at?.toISOString() ?? null,
  };
}

/** Read from the run's own row only. */
export function showResult({ run, request, threadId, manifest }: RunDetails): RunResult {
  const beganAt = run.started_at ?? run.created_at;
  return {
    run_id: run.id,
    agent_run_id: run.id,
    request_id: request.request_id,
    thread_id: threadId,
    agent_slug: manifest.agent_slug,
    status: run.status,
    final: run.ended_at !== null,
    output: run.output ?? "",
    usage: showUsage(run.usage),
    error: run.error === null ? null : RunError.parse(run.error),
    interrupt: run.interrupt === null ? null : Interrupt.parse(run.interrupt),
    ...(run.evaluation === null ? {} : { evaluation: Evaluation.parse(run.evaluation) }),
    created_at: run.created_at.toISOString(),
    started_at: run.started_at?.toISOString() ?? null,
    ended_at: run.ended_at?.toISOString() ?? null,
    duration_ms: run.ended_at === null ? null : Math.max(0, run.ended_at.getTime() - beganAt.getTime()),
    last_seq: run.last_seq,
  };
}
