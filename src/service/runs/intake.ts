import { createHash } from "node:crypto";
import { findVisible } from "../agents/agents.ts";
import { canonicalJson } from "../agents/manifest.ts";
import { modelOf } from "../agents/models.ts";
import { ApiProblem } from "../api/problems.ts";
import type { QueuePolicy } from "../api/runs.ts";
import type { Caller } from "../auth/caller.ts";
import type { Storage } from "../storage/storage.ts";
import { violatedConstraint, type Transaction } from "../storage/transaction.ts";
import { findThread, lockOrMakeThread, lockThread, type ThreadRow } from "../threads/threads.ts";
import { holdQuotas } from "./quota.ts";
import type { RequestInput, RequestOptions, RequestRow, RunRow } from "./rows.ts";
import { takeOrdinary } from "./take-ordinary.ts";
import { takeResume } from "./take-resume.ts";

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
      const quotas = await holdQuotas(trx, caller);
      const thread = intent.makesThread
        ? await lockOrMakeThread(trx, caller.userId, intent.threadId, agent.id)
        : await lockThread(trx, (await findThread(trx, caller.userId, intent.threadId)).pk);
      // The same request at the same moment may have been first while this one waited for the thread.
      const meanwhile = await findRepeat(trx, caller, intent, hash);
      if (meanwhile !== undefined) return meanwhile;
      if (thread.deleted_at !== null) throw new ApiProblem("thread_not_found", "the thread was deleted");
      if (thread.agent_id !== agent.id) throw new ApiProblem("agent_mismatch", "the thread belongs to another agent");
      await quotas.assertWithin();
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
  if (thread.deleted_at !== null) throw new ApiProblem("thread_not_found", "the thread was deleted");
  const run = await trx.selectFrom("run").selectAll().where("request_pk", "=", request.pk).executeTakeFirst();
  return { request, run, thread };
}

/** What a request means; images by what they are, so that the hash costs no megabytes of canonical JSON twice. */
function intentHash({ source, threadId, agentSlug, input, options, queuePolicy }: Intent): Buffer {
  return createHash("sha256")
    .update(canonicalJson({ source, threadId, agentSlug, input, options, queuePolicy }))
    .digest();
}
