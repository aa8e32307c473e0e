import { createHash } from "node:crypto";
import { assertVisible } from "../../agents/agents.ts";
import { canonicalJson } from "../../agents/manifest.ts";
import { modelOf } from "../../agents/models.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Caller } from "../../auth/caller.ts";
import type { Storage } from "../../storage/storage.ts";
import { violatedConstraint, type Transaction } from "../../storage/transaction.ts";
import { findThread, lockOrMakeThread, lockThread, type ThreadRow } from "../../threads/threads.ts";
import { holdCaller } from "./quota.ts";
import { readFacts } from "./submission-facts.ts";
import { decideOrdinary } from "./decide-ordinary.ts";
import { decideResume } from "./decide-resume.ts";
import type { Intent, AcceptedRequest } from "./intent.ts";

export interface IntakeOptions {
  readonly storage: Storage;
  readonly maxQueued: number;
}

/**
 * Accepts a request: it is dispatched, queued or rejected, decided under the lock of its thread. Law: the queue is strict.
 * The same request is the same however often it comes; another under its id is refused.
 *
 * @throws {ApiProblem}
 */
export async function submit(
  { storage, maxQueued }: IntakeOptions,
  caller: Caller,
  intent: Intent,
): Promise<AcceptedRequest> {
  const hash = intentHash(intent);
  try {
    return await storage.transaction(async (trx) => {
      // Held before anything is looked at: the same request at the same moment may be first while this one waits.
      const held = await holdCaller(trx, caller, intent.makesThread ? undefined : intent.threadId);
      const before = await readFacts(trx, caller, intent, held.thread?.pk);
      if (before.isKnown) return readRepeat(trx, caller, intent, hash);
      const agent = assertVisible(caller, before.agent, intent.agentSlug);
      if (!agent.is_enabled)
        throw new ApiProblem("agent_not_found", `there is no agent ${JSON.stringify(intent.agentSlug)}`);
      modelOf(agent, intent.options.model_spec);
      const thread = held.thread ?? (await makeThread(trx, caller.userId, intent, agent.id));
      const facts = held.thread === undefined ? await readFacts(trx, caller, intent, thread.pk) : before;
      if (facts.isKnown) return readRepeat(trx, caller, intent, hash);
      if (thread.deleted_at !== null) throw new ApiProblem("thread_not_found", "the thread was deleted");
      if (thread.agent_id !== agent.id) throw new ApiProblem("agent_mismatch", "the thread belongs to another agent");
      await held.assertWithin();
      const decide = intent.input.resume === undefined ? decideOrdinary : decideResume;
      const decided = await decide({ storage, trx, caller, intent, hash, thread, agent, facts, maxQueued });
      return { ...decided, thread };
    });
  } catch (error) {
    if (violatedConstraint(error) !== "run_request_user_id_request_id_key") throw error;
    // The same request at the same moment was first, on another thread.
    return storage.transaction((trx) => readRepeat(trx, caller, intent, hash));
  }
}

/** A thread that has to be made first, or is not there. @throws {ApiProblem} thread_not_found */
async function makeThread(trx: Transaction, userId: number, intent: Intent, agentId: number): Promise<ThreadRow> {
  if (intent.makesThread) return lockOrMakeThread(trx, userId, intent.threadId, agentId);
  return lockThread(trx, (await findThread(trx, userId, intent.threadId)).pk);
}

/** A request that was accepted before. @throws {ApiProblem} request_id_conflict */
async function readRepeat(trx: Transaction, caller: Caller, intent: Intent, hash: Buffer): Promise<AcceptedRequest> {
  const request = await trx
    .selectFrom("run_request")
    .selectAll()
    .where("user_id", "=", caller.userId)
    .where("request_id", "=", intent.requestId)
    .executeTakeFirstOrThrow();
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

/** The images' place in a canonical intent: no text before it can hold it, since its quotes would be escaped. */
const IMAGES = '"input":{"images":[';

/**
 * What a request means: the SHA-256 of its canonical JSON. Images are base64, which is the same in JSON: to look for what has to
 * be escaped in them takes longer than to hash them.
 */
export function intentHash(intent: Intent): Buffer {
  const { source, threadId, agentSlug, input, options, queuePolicy } = intent;
  const { images, ...rest } = input;
  const text = canonicalJson({ source, threadId, agentSlug, input: { ...rest, images: [] }, options, queuePolicy });
  const at = text.indexOf(IMAGES) + IMAGES.length;
  const hash = createHash("sha256").update(text.slice(0, at));
  for (const [index, image] of images.entries())
    hash
      .update(index === 0 ? '"' : ',"')
      .update(image, "latin1")
      .update('"');
  return hash.update(text.slice(at)).digest();
}
