import { createHash } from "node:crypto";
import { sql } from "kysely";
import { v7 as uuid7 } from "uuid";
import { findVisible } from "../agents/agents.ts";
import { canonicalJson } from "../agents/manifest.ts";
import { modelOf } from "../agents/models.ts";
import { ApiProblem } from "../api/problems.ts";
import { HumanDecisions, Interrupt, type QueuePolicy } from "../api/runs.ts";
import type { Caller } from "../auth/caller.ts";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";
import { violatedConstraint, type Transaction } from "../storage/transaction.ts";
import { findThread, lockOrMakeThread, lockThread, type ThreadRow } from "../threads/threads.ts";
import { dispatch, freezeManifest } from "./dispatch.ts";
import { assertWithinQuota } from "./quota.ts";
import {
  findBlocking,
  RequestOptions,
  notifyRequests,
  type RequestInput,
  type RequestRow,
  type RunRow,
} from "./rows.ts";

/** What is asked to be run. */
export interface Intent {
  readonly source: "chat" | "agent_call" | "evaluation";
  readonly requestId: string;
  readonly threadId: string;
  readonly agentSlug: string;
  readonly input: RequestInput;
  readonly options: RequestOptions;
  readonly queuePolicy: QueuePolicy;
  /** Makes the thread of this id where it is not there yet. */
  readonly makesThread: boolean;
  readonly traceparent?: string | undefined;
}

/** A request as it is now, with its run once there is one. */
export interface Taken {
  readonly request: RequestRow;
  readonly run: RunRow | undefined;
  readonly thread: ThreadRow;
}

export interface IntakeOptions {
  readonly storage: Storage;
  readonly maxQueued: number;
}

/**
 * Takes a request in: dispatched, queued or rejected, decided under the lock of its thread (law 7). The same request is the same
 * however often it comes; another under its id is refused.
 *
 * @throws {ApiProblem}
 */
export async function submit({ storage, maxQueued }: IntakeOptions, caller: Caller, intent: Intent): Promise<Taken> {
  const hash = intentHash(intent);
  try {
    return await storage.transaction(async (trx) => {
      const known = await findRepeat(trx, caller, intent, hash);
      if (known !== undefined) return known;
      const agent = await findVisible(trx, caller, intent.agentSlug);
      if (!agent.is_enabled)
        throw new ApiProblem("agent_not_found", `there is no agent ${JSON.stringify(intent.agentSlug)}`);
      modelOf(agent, intent.options.model_spec);
      await holdAccount(trx, caller.userId);
      const thread = intent.makesThread
        ? await lockOrMakeThread(trx, caller.userId, intent.threadId, agent.id)
        : await lockThread(trx, (await findThread(trx, caller.userId, intent.threadId)).pk);
      // The same request at the same moment may have been first while this one waited for the thread.
      const meanwhile = await findRepeat(trx, caller, intent, hash);
      if (meanwhile !== undefined) return meanwhile;
      if (thread.deleted_at !== null) throw new ApiProblem("thread_not_found", "the thread was deleted");
      if (thread.agent_id !== agent.id) throw new ApiProblem("agent_mismatch", "the thread belongs to another agent");
      await assertWithinQuota(trx, caller);
      const decide = intent.input.resume === undefined ? takeOrdinary : takeResume;
      return { ...(await decide({ storage, trx, caller, intent, hash, thread, maxQueued })), thread };
    });
  } catch (error) {
    if (violatedConstraint(error) !== "run_request_user_id_request_id_key") throw error;
    // The same request at the same moment was first, on another thread.
    const known = await storage.transaction((trx) => findRepeat(trx, caller, intent, hash));
    if (known === undefined) throw error;
    return known;
  }
}

interface Decision {
  readonly storage: Storage;
  readonly trx: Transaction;
  readonly caller: Caller;
  readonly intent: Intent;
  readonly hash: Buffer;
  readonly thread: ThreadRow;
  readonly maxQueued: number;
}

type Decided = Pick<Taken, "request" | "run">;

async function takeOrdinary(decision: Decision): Promise<Decided> {
  const { trx, intent, thread } = decision;
  const blocking = await findBlocking(trx, thread.pk);
  if (blocking?.status === "interrupted") {
    throw new ApiProblem("run_interrupted", "the thread waits for an answer: resume its run, or cancel it", {
      blocking_run_id: blocking.id,
    });
  }
  const waiting = await trx
    .selectFrom("run_request")
    .select(["pk", "queue_policy"])
    .where("thread_pk", "=", thread.pk)
    .where("status", "=", "queued")
    .execute();
  if (blocking === undefined && waiting.length === 0) return dispatched(decision, "chat");
  if (intent.queuePolicy === "reject") {
    const error = { code: "thread_busy", message: "the thread is busy", active_run_id: blocking?.id ?? null };
    return { request: await insert(decision, { kind: "chat", status: "rejected", error }), run: undefined };
  }
  if (waiting.length >= decision.maxQueued) {
    throw new ApiProblem("queue_full", `${waiting.length} requests wait in this thread already`, {}, 5);
  }
  if (intent.queuePolicy === "steer")
    return takeSteer(
      decision,
      blocking,
      waiting.some((each) => each.queue_policy === "steer"),
    );
  const request = await insert(decision, { kind: "chat", status: "queued" });
  await notifyRequests(trx, thread.pk);
  return { request, run: undefined };
}

async function takeSteer(decision: Decision, blocking: RunRow | undefined, hasSteer: boolean): Promise<Decided> {
  const { trx, thread, intent } = decision;
  const target = await assertSteerable(trx, blocking, intent.source);
  if (hasSteer)
    throw new ApiProblem("steer_already_pending", "another steer waits already", { active_run_id: target.id });
  // Frozen now: its turn is sent before it is dispatched, and both must be one body.
  const manifest = await freezeManifest(trx, {
    user_id: decision.caller.userId,
    thread_pk: thread.pk,
    options: intent.options,
  });
  const request = await insert(decision, { kind: "chat", status: "queued", steerTarget: target.id, manifest });
  await sql`select pg_notify('svc_control', ${target.id})`.execute(trx);
  await notifyRequests(trx, thread.pk);
  return { request, run: undefined };
}

/** The run that a steer turns. @throws {ApiProblem} run_not_steerable */
export async function assertSteerable(
  trx: Transaction,
  blocking: RunRow | undefined,
  source: Intent["source"],
): Promise<RunRow> {
  const kind =
    blocking === undefined
      ? undefined
      : (
          await trx
            .selectFrom("run_request")
            .select("kind")
            .where("pk", "=", blocking.request_pk)
            .executeTakeFirstOrThrow()
        ).kind;
  if (blocking?.status === "running" && kind === "chat" && source === "chat") return blocking;
  throw new ApiProblem("run_not_steerable", "only a running chat run can be steered", {
    active_run_id: blocking?.id ?? null,
  });
}

async function takeResume(decision: Decision): Promise<Decided> {
  const { trx, intent, thread } = decision;
  if (intent.queuePolicy !== "enqueue") {
    throw new ApiProblem("queue_policy_inapplicable", "a resume bypasses the queue: leave queue_policy out");
  }
  const parentId = intent.input.parent_run_id;
  const parent =
    parentId === undefined
      ? undefined
      : await trx.selectFrom("run").selectAll().where("id", "=", parentId).forUpdate().executeTakeFirst();
  if (parent === undefined || parent.thread_pk !== thread.pk) {
    throw new ApiProblem("run_not_found", `there is no run ${JSON.stringify(parentId)} in this thread`);
  }
  if (parent.status !== "interrupted")
    throw new ApiProblem("run_not_interrupted", "only an interrupted run can be resumed", {
      run_status: parent.status,
    });
  if (parent.released_at !== null) {
    throw new ApiProblem("resume_superseded", "the run was resumed or given up already", {
      released_by: parent.released_by,
    });
  }
  assertAnswers(Interrupt.parse(parent.interrupt), intent.input.resume ?? {});
  const inherited = await inheritOptions(trx, parent, intent.options);
  const made: Decision = { ...decision, intent: { ...intent, options: inherited } };
  const request = await insert(made, { kind: "resume", status: "queued" });
  await trx
    .updateTable("run")
    .set({ released_at: sql<Date>`now()`, released_by: request.planned_run_id })
    .where("id", "=", parent.id)
    .execute();
  return complete(made, request);
}

function assertAnswers(interrupt: Interrupt, resume: Readonly<Record<string, unknown>>): void {
  if (interrupt.reason !== "human_approval") return;
  const parsed = HumanDecisions.safeParse(resume);
  if (parsed.success) return;
  throw new ApiProblem(
    "resume_invalid",
    'resume needs exactly one decision: {"decisions":[{"type":"approve" or "reject","message"?}]}',
  );
}

/** A resume goes on with the model and the approval of what it resumes. */
async function inheritOptions(trx: Transaction, parent: RunRow, own: RequestOptions): Promise<RequestOptions> {
  const { options } = await trx
    .selectFrom("run_request")
    .select("options")
    .where("pk", "=", parent.request_pk)
    .executeTakeFirstOrThrow();
  const { model_spec, tool_approval_mode } = RequestOptions.parse(options);
  return {
    ...own,
    ...(model_spec === undefined ? {} : { model_spec }),
    ...(tool_approval_mode === undefined ? {} : { tool_approval_mode }),
  };
}

async function dispatched(decision: Decision, kind: "chat" | "resume"): Promise<Decided> {
  return complete(decision, await insert(decision, { kind, status: "queued" }));
}

async function complete({ storage, trx }: Decision, request: RequestRow): Promise<Decided> {
  const run = await dispatch(storage, trx, request);
  return {
    request: await trx.selectFrom("run_request").selectAll().where("pk", "=", request.pk).executeTakeFirstOrThrow(),
    run,
  };
}

interface NewRequest {
  readonly kind: "chat" | "resume";
  readonly status: "queued" | "rejected";
  readonly error?: Readonly<Record<string, unknown>>;
  readonly steerTarget?: string;
  readonly manifest?: Buffer;
}

async function insert({ trx, caller, intent, hash, thread }: Decision, made: NewRequest): Promise<RequestRow> {
  return trx
    .insertInto("run_request")
    .values({
      user_id: caller.userId,
      request_id: intent.requestId,
      intent_hash: hash,
      thread_pk: thread.pk,
      api_key_id: caller.credential.type === "api_key" ? caller.credential.id : null,
      source: intent.source,
      kind: made.kind,
      queue_policy: intent.queuePolicy,
      status: made.status,
      input: json(intent.input),
      options: json(intent.options),
      planned_run_id: uuid7(),
      manifest_digest: made.manifest ?? null,
      steer_target: made.steerTarget ?? null,
      error: made.error === undefined ? null : json(made.error),
      traceparent: intent.traceparent ?? null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Keeps a user from being deleted meanwhile: a deletion cancels what it finds, and this is found. */
async function holdAccount(trx: Transaction, userId: number): Promise<void> {
  const { deleted_at } = await trx
    .selectFrom("account")
    .select("deleted_at")
    .where("id", "=", userId)
    .forKeyShare()
    .executeTakeFirstOrThrow();
  if (deleted_at !== null) throw new ApiProblem("unauthorized", "the user was deleted");
}

/** @throws {ApiProblem} request_id_conflict */
async function findRepeat(trx: Transaction, caller: Caller, intent: Intent, hash: Buffer): Promise<Taken | undefined> {
  const request = await trx
    .selectFrom("run_request")
    .selectAll()
    .where("user_id", "=", caller.userId)
    .where("request_id", "=", intent.requestId)
    .executeTakeFirst();
  if (request === undefined) return undefined;
  if (!Buffer.from(request.intent_hash).equals(hash)) {
    throw new ApiProblem("request_id_conflict", "this request_id stands for another request");
  }
  const thread = await trx
    .selectFrom("thread")
    .selectAll()
    .where("pk", "=", request.thread_pk)
    .executeTakeFirstOrThrow();
  const run = await trx.selectFrom("run").selectAll().where("request_pk", "=", request.pk).executeTakeFirst();
  return { request, run, thread };
}

/** What a request means; images by what they are, so that the hash costs no megabytes of canonical JSON twice. */
function intentHash({ source, threadId, agentSlug, input, options, queuePolicy }: Intent): Buffer {
  return createHash("sha256")
    .update(canonicalJson({ source, threadId, agentSlug, input, options, queuePolicy }))
    .digest();
}
