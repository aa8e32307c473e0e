import { sql } from "kysely";
import { Manifest } from "../../agents/manifest.ts";
import { ApiProblem } from "../../api/problems.ts";
import {
  Evaluation,
  Interrupt,
  RunError,
  type Run,
  type RunRequest,
  type RunResult,
  type RunStatus,
  type Submission,
} from "../../api/runs.ts";
import type { Queries, Transaction } from "../../storage/transaction.ts";
import type { ThreadRow } from "../../threads/threads.ts";
import { RequestInput, type RequestRow, type RunRow } from "../rows.ts";
import { showUsage } from "../ending/usage.ts";

/** A run with what the API shows beside it. */
export interface RunDetails {
  readonly run: RunRow;
  readonly request: RequestRow;
  readonly threadId: string;
  readonly manifest: Manifest;
}

export function streamUrl(runId: string): string {
  return `/api/agent/runs/${runId}/events`;
}

export function requestEventsUrl(requestId: string): string {
  return `/api/agent/requests/${encodeURIComponent(requestId)}/events`;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A run of a user. @throws {ApiProblem} run_not_found: another's is not there (law 9) */
export async function findRun(db: Queries | Transaction, userId: number, runId: string): Promise<RunDetails> {
  const [found] = UUID.test(runId) ? await listRuns(db, { userId, runId, limit: 1 }) : [];
  if (found === undefined) throw new ApiProblem("run_not_found", `there is no run ${JSON.stringify(runId)}`);
  return found;
}

export interface RunFilter {
  readonly userId: number;
  readonly runId?: string | undefined;
  readonly threadPk?: number | undefined;
  readonly status?: RunStatus | undefined;
  /** Only runs older than this one. */
  readonly before?: string | undefined;
  /** By where they acted in their thread, not by their requests' intake: a steer acts before what waited already. */
  readonly isAsActed?: boolean;
  readonly limit: number;
}

/** Newest first. */
export async function listRuns(db: Queries | Transaction, filter: RunFilter): Promise<RunDetails[]> {
  let query = db
    .selectFrom("run")
    .selectAll()
    .where("user_id", "=", filter.userId)
    .where("thread_pk", "in", (runs) =>
      runs.selectFrom("thread").select("pk").where("user_id", "=", filter.userId).where("deleted_at", "is", null),
    )
    .orderBy(filter.isAsActed === true ? "ordinal" : "id", "desc")
    .limit(filter.limit);
  if (filter.runId !== undefined) query = query.where("id", "=", filter.runId);
  if (filter.threadPk !== undefined) query = query.where("thread_pk", "=", filter.threadPk);
  if (filter.status !== undefined) query = query.where("status", "=", filter.status);
  const { before } = filter;
  if (before !== undefined) {
    query =
      filter.isAsActed === true
        ? query.where("ordinal", "<", (run) =>
            run.selectFrom("run as other").select("ordinal").where("id", "=", before),
          )
        : query.where("id", "<", before);
  }
  const runs = await query.execute();
  if (runs.length === 0) return [];
  const requests = await db
    .selectFrom("run_request")
    .selectAll()
    .where(
      "pk",
      "in",
      runs.map((run) => run.request_pk),
    )
    .execute();
  const threads = await db
    .selectFrom("thread")
    .select(["pk", "id"])
    .where(
      "pk",
      "in",
      runs.map((run) => run.thread_pk),
    )
    .execute();
  const manifests = await db
    .selectFrom("manifest")
    .selectAll()
    .where(
      "digest",
      "in",
      runs.map((run) => run.manifest_digest),
    )
    .execute();
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
  const byPk = new Map(requests.map((request) => [request.pk, request]));
  const threadIds = new Map(threads.map(({ pk, id }) => [pk, id]));
  const byDigest = new Map(manifests.map(({ digest, body }) => [hex(digest), Manifest.parse(body)]));
  return runs.flatMap((run) => {
    const request = byPk.get(run.request_pk);
    const threadId = threadIds.get(run.thread_pk);
    const manifest = byDigest.get(hex(run.manifest_digest));
    return request === undefined || threadId === undefined || manifest === undefined
      ? []
      : [{ run, request, threadId, manifest }];
  });
}

/** A request of a user. @throws {ApiProblem} request_not_found */
export async function findRequest(db: Queries | Transaction, userId: number, requestId: string): Promise<RequestRow> {
  const row = await db
    .selectFrom("run_request")
    .selectAll()
    .where("user_id", "=", userId)
    .where("request_id", "=", requestId)
    .where("thread_pk", "in", (query) =>
      query.selectFrom("thread").select("pk").where("user_id", "=", userId).where("deleted_at", "is", null),
    )
    .executeTakeFirst();
  if (row === undefined) throw new ApiProblem("request_not_found", `there is no request ${JSON.stringify(requestId)}`);
  return row;
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

/** Where a waiting request stands in its thread; 1 is next. */
export async function queuePosition(db: Queries | Transaction, request: RequestRow): Promise<number | null> {
  if (request.status !== "queued") return null;
  const isSteer = request.queue_policy === "steer";
  const { rows } = await sql<{ ahead: number }>`
    select count(*)::int as ahead from run_request
    where thread_pk = ${request.thread_pk} and status = 'queued' and pk <> ${request.pk}
      and ((queue_policy = 'steer' and not ${isSteer}) or ((queue_policy = 'steer') = ${isSteer} and pk < ${request.pk}))`.execute(
    db,
  );
  return (rows[0]?.ahead ?? 0) + 1;
}

/** A request as it is now. */
export async function showRequest(db: Queries | Transaction, request: RequestRow): Promise<RunRequest> {
  const { slug, id } = await db
    .selectFrom("thread")
    .innerJoin("agent", "agent.id", "thread.agent_id")
    .select(["agent.slug", "thread.id"])
    .where("thread.pk", "=", request.thread_pk)
    .executeTakeFirstOrThrow();
  const run =
    request.status === "dispatched"
      ? await db.selectFrom("run").select(["id", "status"]).where("request_pk", "=", request.pk).executeTakeFirst()
      : undefined;
  return viewRequest(request, { slug, threadId: id, position: await queuePosition(db, request), run });
}

/** A thread's waiting requests in the order in which they will run. */
export async function showWaiting(
  db: Queries | Transaction,
  thread: Pick<ThreadRow, "pk" | "id" | "agent_id">,
): Promise<(RunRequest & { content: string })[]> {
  const rows = await db
    .selectFrom("run_request")
    .selectAll()
    .where("thread_pk", "=", thread.pk)
    .where("status", "=", "queued")
    .orderBy(sql`(queue_policy = 'steer')`, "desc")
    .orderBy("pk")
    .execute();
  if (rows.length === 0) return [];
  const { slug } = await db
    .selectFrom("agent")
    .select("slug")
    .where("id", "=", thread.agent_id)
    .executeTakeFirstOrThrow();
  return rows.map((row, index) => ({
    ...viewRequest(row, { slug, threadId: thread.id, position: index + 1, run: undefined }),
    content: inputText(row),
  }));
}

interface RequestPlace {
  readonly slug: string;
  readonly threadId: string;
  readonly position: number | null;
  readonly run: Pick<RunRow, "id" | "status"> | undefined;
}

function viewRequest(request: RequestRow, { slug, threadId, position, run }: RequestPlace): RunRequest {
  return {
    request_id: request.request_id,
    user_id: request.user_id,
    agent_slug: slug,
    thread_id: threadId,
    source: request.source,
    queue_policy: request.queue_policy,
    status: request.status,
    queue_position: position,
    run_id: run?.id ?? null,
    dispatched_run_id: run?.id ?? null,
    run_status: run?.status ?? null,
    error: showError(request.error),
    created_at: request.created_at.toISOString(),
    dispatched_at: request.dispatched_at?.toISOString() ?? null,
    updated_at: request.updated_at.toISOString(),
    ...(run === undefined ? {} : { stream_url: streamUrl(run.id) }),
    ...(request.status === "queued" ? { request_events_url: requestEventsUrl(request.request_id) } : {}),
  };
}

/** The answer to a submission, and to its repetition. */
export async function showSubmission(
  db: Queries | Transaction,
  {
    request,
    run,
    thread,
    position,
  }: { request: RequestRow; run: RunRow | undefined; thread: { id: string }; position?: number },
): Promise<Submission> {
  const error = showError(request.error);
  return {
    run_id: run?.id ?? null,
    request_id: request.request_id,
    thread_id: thread.id,
    status: request.status,
    ...(run === undefined ? {} : { run_status: run.status, stream_url: streamUrl(run.id) }),
    queue_policy: request.queue_policy,
    queue_position: position ?? (await queuePosition(db, request)),
    ...(request.status === "queued" ? { request_events_url: requestEventsUrl(request.request_id) } : {}),
    ...(error === null ? {} : { error }),
  };
}

function showError(stored: unknown): { code: string; message: string } | null {
  if (typeof stored !== "object" || stored === null || !("code" in stored) || !("message" in stored)) return null;
  return { ...stored, code: String(stored.code), message: String(stored.message) };
}

/** What a person wrote, as a history shows it. */
export function inputText(request: RequestRow): string {
  return RequestInput.parse(request.input).query;
}
