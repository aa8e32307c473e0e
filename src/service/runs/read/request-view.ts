import { sql } from "kysely";
import type { RunRequest, Submission } from "../../protocol/runs.ts";
import type { Queries, Transaction } from "../../storage/transaction.ts";
import type { ThreadRow } from "../../threads/threads.ts";
import { readContent, type RequestRow, type RunRow } from "../state/rows.ts";
import { requestEventsUrl, streamUrl } from "./run-view.ts";

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
    content: readContent(row).input.query,
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
