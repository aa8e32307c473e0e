import { v7 as uuid7 } from "uuid";
import type { AgentRow } from "../../agents/agents.ts";
import type { Caller } from "../../auth/caller.ts";
import { json } from "../../storage/storable.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Transaction } from "../../storage/transaction.ts";
import type { ThreadRow } from "../../threads/threads.ts";
import { dispatch } from "../state/dispatch.ts";
import type { Intent, AcceptedRequest } from "./intent.ts";
import { addRequest } from "../state/requests.ts";
import type { RequestRow } from "../state/rows.ts";
import type { SubmissionFacts } from "./submission-facts.ts";

/** What is decided about a request, while its thread is held. */
export interface Decision {
  readonly storage: Storage;
  readonly trx: Transaction;
  readonly caller: Caller;
  readonly intent: Intent;
  readonly hash: Buffer;
  readonly thread: ThreadRow;
  /** What the caller may use. */
  readonly agent: AgentRow;
  readonly facts: SubmissionFacts;
  readonly maxQueued: number;
}

export type DecisionResult = Pick<AcceptedRequest, "request" | "run" | "position">;

export interface NewRequest {
  readonly kind: "chat" | "resume";
  readonly status: "queued" | "rejected";
  readonly error?: Readonly<Record<string, unknown>>;
  readonly steerTarget?: string;
  readonly manifest?: Buffer;
  /** Watchers of the thread's requests are notified. */
  readonly isNoticed?: boolean;
}

/** Writes the request's row. */
export async function insert({ trx, caller, intent, hash, thread }: Decision, made: NewRequest): Promise<RequestRow> {
  const row = {
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
  };
  return addRequest(trx, row, { isNoticed: made.isNoticed === true });
}

/** Dispatches a request that was just written. */
export async function complete(
  { storage, trx, agent, intent }: Decision,
  request: RequestRow,
): Promise<DecisionResult> {
  const run = await dispatch(storage, trx, request, { agent, input: intent.input, options: intent.options });
  // What the dispatch has made of its row: every now() of a transaction is one.
  const at = run.created_at;
  const revision = request.revision + 1;
  return { request: { ...request, status: "dispatched", revision, dispatched_at: at, updated_at: at }, run };
}
