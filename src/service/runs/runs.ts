import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { Logger } from "pino";
import { v5 as uuid5, v7 as uuid7 } from "uuid";
import { canonicalJson } from "../agents/manifest.ts";
import { ApiProblem, ValidationProblem } from "../api/problems.ts";
import type { Run, RunRequest, RunResult, RunStatus, Submission, SubmitRunBody } from "../api/runs.ts";
import { Id } from "../api/common.ts";
import type { History, QueueView } from "../api/threads.ts";
import { writeAudit } from "../auth/audit.ts";
import type { KnownActor } from "../auth/accounts.ts";
import type { Caller } from "../auth/caller.ts";
import type { Storage } from "../storage/storage.ts";
import { viewQueue } from "../threads/queue-view.ts";
import { findThread, lockThread } from "../threads/threads.ts";
import { cancelRequest, cancelRun } from "./control.ts";
import { dispatchHead, freezeManifest } from "./dispatch.ts";
import type { FinishOptions } from "./finish.ts";
import { assertImagesFit, readImage } from "./images.ts";
import { assertSteerable, submit, type Intent, type Taken } from "./intake.ts";
import { findBlocking, notifyControl, notifyRequests } from "./rows.ts";
import {
  findRequest,
  findRun,
  inputText,
  listRuns,
  showRequest,
  showResult,
  showRun,
  showSubmission,
  type RunDetails,
} from "./views.ts";

export interface RunsOptions {
  readonly storage: Storage;
  readonly finishing: FinishOptions;
  readonly maxQueued: number;
  readonly logger: Logger;
}

/** What callers do with runs and requests. */
export type Runs = ReturnType<typeof createRuns>;

/** Of the default request ids of resumes. */
const RESUME_NAMESPACE = "6f6a3c1e-5c0f-5d0a-9c4e-2f1d7b8a9e10";

export function createRuns(options: RunsOptions) {
  const { storage, finishing } = options;
  const take = (caller: Caller, intent: Intent): Promise<Taken> => submit(options, caller, intent);

  return {
    /** Any source's request, as it is now. */
    take,

    async submit(
      caller: Caller,
      body: SubmitRunBody,
      given: { requestId?: string | undefined; traceparent?: string | undefined },
    ): Promise<Submission> {
      return showSubmission(storage.db, await take(caller, readIntent(body, given)));
    },

    async get(caller: Caller, runId: string): Promise<Run> {
      return showRun(await findRun(storage.db, caller.userId, runId));
    },

    find: (caller: Caller, runId: string): Promise<RunDetails> => findRun(storage.db, caller.userId, runId),

    async list(
      caller: Caller,
      filter: {
        thread_id?: string | undefined;
        status?: RunStatus | undefined;
        before?: string | undefined;
        limit: number;
      },
    ): Promise<Run[]> {
      const { thread_id: threadId, status, before, limit } = filter;
      const threadPk = threadId === undefined ? undefined : (await findThread(storage.db, caller.userId, threadId)).pk;
      return (await listRuns(storage.db, { userId: caller.userId, threadPk, status, before, limit })).map(showRun);
    },

    async result(caller: Caller, runId: string): Promise<RunResult> {
      return showResult(await findRun(storage.db, caller.userId, runId));
    },

    /** Of an ended run too, which stays as it is. */
    async cancel(actor: KnownActor, runId: string): Promise<Run> {
      const { run } = await findRun(storage.db, actor.caller.userId, runId);
      await cancelRun(finishing, actor, run);
      return showRun(await findRun(storage.db, actor.caller.userId, runId));
    },

    async request(caller: Caller, requestId: string): Promise<RunRequest> {
      return showRequest(storage.db, await findRequest(storage.db, caller.userId, requestId));
    },

    findRequest: (caller: Caller, requestId: string) => findRequest(storage.db, caller.userId, requestId),

    async cancelRequest(
      actor: KnownActor,
      requestId: string,
    ): Promise<{ request_id: string; status: RunRequest["status"] }> {
      const row = await cancelRequest(storage, actor, await findRequest(storage.db, actor.caller.userId, requestId));
      return { request_id: row.request_id, status: row.status };
    },

    /** Makes a waiting request the steer of the run that blocks its thread. */
    async steerRequest(actor: KnownActor, requestId: string): Promise<RunRequest> {
      const { caller } = actor;
      const found = await findRequest(storage.db, caller.userId, requestId);
      await storage.transaction(async (trx) => {
        await lockThread(trx, found.thread_pk);
        const row = await trx
          .selectFrom("run_request")
          .selectAll()
          .where("pk", "=", found.pk)
          .forUpdate()
          .executeTakeFirstOrThrow();
        if (row.status !== "queued")
          throw new ApiProblem("request_not_queued", "only a waiting request can become a steer", {
            status: row.status,
          });
        if (row.queue_policy === "steer") return;
        const target = await assertSteerable(trx, await findBlocking(trx, row.thread_pk), row.source);
        const other = await trx
          .selectFrom("run_request")
          .select("pk")
          .where("thread_pk", "=", row.thread_pk)
          .where("status", "=", "queued")
          .where("queue_policy", "=", "steer")
          .executeTakeFirst();
        if (other !== undefined) throw new ApiProblem("steer_already_pending", "another steer waits already");
        const digest = await freezeManifest(trx, row);
        await trx
          .updateTable("run_request")
          .set({
            queue_policy: "steer",
            steer_target: target.id,
            manifest_digest: digest,
            revision: row.revision + 1,
            updated_at: sql<Date>`now()`,
          })
          .where("pk", "=", row.pk)
          .execute();
        await notifyControl(trx, target.id);
        await notifyRequests(trx, row.thread_pk);
      });
      return showRequest(storage.db, await findRequest(storage.db, caller.userId, requestId));
    },

    /** What waits in a thread, in order, and what its queue is. */
    async queue(
      caller: Caller,
      threadId: string,
    ): Promise<{ requests: (RunRequest & { content: string })[]; queue: QueueView }> {
      const thread = await findThread(storage.db, caller.userId, threadId);
      const rows = await storage.db
        .selectFrom("run_request")
        .selectAll()
        .where("thread_pk", "=", thread.pk)
        .where("status", "=", "queued")
        .orderBy(sql`(queue_policy = 'steer')`, "desc")
        .orderBy("pk")
        .execute();
      const requests = [];
      for (const row of rows) requests.push({ ...(await showRequest(storage.db, row)), content: inputText(row) });
      return { requests, queue: await viewQueue(storage.db, thread.pk) };
    },

    async activeRun(caller: Caller, threadId: string): Promise<Run | null> {
      const thread = await findThread(storage.db, caller.userId, threadId);
      const blocking = await findBlocking(storage.db, thread.pk);
      return blocking === undefined ? null : showRun(await findRun(storage.db, caller.userId, blocking.id));
    },

    /** Dispatches the next request of a paused thread; when it completes, the rest follows. */
    async continueThread(
      actor: KnownActor,
      threadId: string,
    ): Promise<{ status: "dispatched"; request_id: string; run_id: string }> {
      const { pk } = await findThread(storage.db, actor.caller.userId, threadId);
      const continued = await storage.transaction(async (trx) => {
        await lockThread(trx, pk);
        const { status, blocking_run_id } = await viewQueue(trx, pk);
        if (status === "interrupted")
          throw new ApiProblem("run_interrupted", "the thread waits for an answer to its run", { blocking_run_id });
        if (status === "running") throw new ApiProblem("run_active", "a run is active", { blocking_run_id });
        if (status === "idle") throw new ApiProblem("queue_empty", "nothing waits in this thread");
        const run = await dispatchHead(storage, trx, pk);
        // Not thrown in here: what could not be dispatched has failed, and stays so.
        if (run === undefined) return undefined;
        const { request_id } = await trx
          .selectFrom("run_request")
          .select("request_id")
          .where("pk", "=", run.request_pk)
          .executeTakeFirstOrThrow();
        await writeAudit(trx, actor, { action: "queue.continued", subject: `thread:${pk}` });
        return { status: "dispatched" as const, request_id, run_id: run.id };
      });
      if (continued === undefined) throw new ApiProblem("queue_empty", "nothing that waited could be dispatched");
      return continued;
    },

    /** What was said, oldest first: the newest page, or the one before a run. */
    async history(
      caller: Caller,
      threadId: string,
      page: { before?: string | undefined; limit: number },
    ): Promise<History> {
      const thread = await findThread(storage.db, caller.userId, threadId);
      const filter = {
        userId: caller.userId,
        threadPk: thread.pk,
        before: page.before,
        limit: Math.max(1, Math.ceil(page.limit / 2)),
      };
      const details = (await listRuns(storage.db, filter)).toReversed();
      const messages = details.flatMap(({ run, request }) => {
        const common = { run_id: run.id, request_id: request.request_id, status: run.status };
        const said = inputText(request);
        return [
          ...(said === ""
            ? []
            : [{ role: "user" as const, content: said, ...common, created_at: request.created_at.toISOString() }]),
          ...(run.output === null || run.output === "" || run.ended_at === null
            ? []
            : [{ role: "assistant" as const, content: run.output, ...common, created_at: run.ended_at.toISOString() }]),
        ];
      });
      return { messages };
    },
  };
}

/** What the general run API asks, in one form. @throws {ApiProblem} */
function readIntent(
  body: SubmitRunBody,
  given: { requestId?: string | undefined; traceparent?: string | undefined },
): Intent {
  const { request_id: _requestId, ...meta } = body.meta ?? {};
  const isResume = body.resume !== undefined && Object.keys(body.resume).length > 0;
  const query = body.query ?? "";
  const images = body.image_content === undefined || body.image_content === "" ? [] : [readImage(body.image_content)];
  assertImagesFit(images);
  if (!isResume && query.trim() === "" && images.length === 0) {
    throw new ApiProblem("query_required", "query is needed, or an image, or a resume");
  }
  const parent = body.created_by_run_id ?? undefined;
  if (isResume && parent === undefined) {
    throw new ValidationProblem([{ loc: ["body", "created_by_run_id"], msg: "needed with resume", type: "missing" }]);
  }
  return {
    source: "chat",
    requestId: given.requestId ?? (isResume ? resumeRequestId(body, parent ?? "") : uuid7()),
    threadId: body.thread_id,
    agentSlug: body.agent_slug,
    input: {
      query,
      images,
      ...(isResume ? { resume: body.resume } : {}),
      ...(isResume && parent !== undefined ? { parent_run_id: parent } : {}),
    },
    options: {
      ...(typeof body.model_spec === "string" ? { model_spec: body.model_spec } : {}),
      ...(typeof body.tool_approval_mode === "string" ? { tool_approval_mode: body.tool_approval_mode } : {}),
      ...(body.timeout_ms === undefined ? {} : { timeout_ms: body.timeout_ms }),
      ...(Object.keys(meta).length === 0 ? {} : { meta }),
    },
    queuePolicy: body.queue_policy ?? "enqueue",
    makesThread: false,
    traceparent: given.traceparent,
  };
}

/** A resume that is sent again without an id is the same request. */
function resumeRequestId(body: SubmitRunBody, parent: string): string {
  const image = createHash("sha256")
    .update(body.image_content ?? "")
    .digest("hex");
  return uuid5(canonicalJson([parent, body.resume, body.query ?? "", image]), RESUME_NAMESPACE);
}

/** The id that `meta` names. @throws {ValidationProblem} */
export function requestIdInMeta(meta: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const id = meta?.["request_id"];
  if (id === undefined || id === null) return undefined;
  const parsed = Id.safeParse(id);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ValidationProblem([
    { loc: ["body", "meta", "request_id"], msg: issue?.message ?? "not an id", type: issue?.code ?? "custom" },
  ]);
}
