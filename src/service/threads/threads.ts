import { createHash, randomUUID } from "node:crypto";
import { sql, type Selectable } from "kysely";
import { defined } from "../../kit/defined.ts";
import { findVisible } from "../agents/agents.ts";
import { canonicalJson } from "../agents/manifest.ts";
import { ApiProblem } from "../protocol/problems.ts";
import type { Thread, UpdateThreadBody } from "../protocol/threads.ts";
import type { Caller } from "../auth/caller.ts";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";
import type { ThreadTable } from "../storage/tables.ts";
import type { Queries, Transaction } from "../storage/transaction.ts";
import { viewQueues } from "./queue-view.ts";

export type ThreadRow = Selectable<ThreadTable>;

/** Conversations: each of one user with one agent. */
export type Threads = ReturnType<typeof createThreads>;

export function createThreads(storage: Storage) {
  async function create(
    caller: Caller,
    body: { agent_id: string; title: string; metadata: Readonly<Record<string, unknown>> },
    requestId: string | undefined,
  ): Promise<Thread> {
    // What a request means; without an id there is no repeat.
    const intentHash =
      requestId === undefined
        ? null
        : createHash("sha256")
            .update(canonicalJson([body.title, body.metadata]))
            .digest();
    const row = await storage.transaction(async (trx) => {
      const agent = await findVisible(trx, caller, body.agent_id);
      const made = await trx
        .insertInto("thread")
        .values({
          user_id: caller.userId,
          id: randomUUID(),
          request_id: requestId ?? null,
          intent_hash: intentHash,
          agent_id: agent.id,
          title: body.title,
          metadata: json(body.metadata),
          session_id: randomUUID(),
        })
        // A repeat of the same request is the same thread, whatever it is called since.
        .onConflict((conflict) => conflict.columns(["user_id", "request_id"]).doNothing())
        .returningAll()
        .executeTakeFirst();
      if (made !== undefined) return made;
      const known = await trx
        .selectFrom("thread")
        .selectAll()
        .where("user_id", "=", caller.userId)
        .where("request_id", "=", requestId ?? null)
        .executeTakeFirstOrThrow();
      if (known.agent_id !== agent.id)
        throw new ApiProblem("agent_mismatch", "this request_id made a thread with another agent");
      if (known.intent_hash !== null && intentHash !== null && !intentHash.equals(known.intent_hash))
        throw new ApiProblem("request_id_conflict", "this request_id made a thread with another title or metadata");
      if (known.deleted_at !== null) throw missing(known.id);
      return known;
    });
    return show(storage.db, row);
  }

  async function list(
    caller: Caller,
    filter: { skip: number; limit: number; agent_id?: string | undefined; q?: string | undefined },
  ): Promise<{ threads: Thread[]; total: number }> {
    let query = storage.db
      .selectFrom("thread")
      .innerJoin("agent", "agent.id", "thread.agent_id")
      .where("thread.user_id", "=", caller.userId)
      .where("thread.deleted_at", "is", null);
    if (filter.agent_id !== undefined) query = query.where("agent.slug", "=", filter.agent_id);
    if (filter.q !== undefined)
      query = query.where(sql<boolean>`position(lower(${filter.q}) in lower(thread.title)) > 0`);
    const rows = await query
      .selectAll("thread")
      .select("agent.slug as slug")
      .orderBy("thread.is_pinned", "desc")
      .orderBy("thread.updated_at", "desc")
      .orderBy("thread.pk")
      .offset(filter.skip)
      .limit(filter.limit)
      .execute();
    const { total } = await query.select(sql<number>`count(*)::int`.as("total")).executeTakeFirstOrThrow();
    const queues = await viewQueues(
      storage.db,
      rows.map(({ pk }) => pk),
    );
    return { threads: rows.map((row) => toThread(row, row.slug, queues.get(row.pk)?.status ?? "idle")), total };
  }

  async function get(caller: Caller, id: string): Promise<Thread> {
    return show(storage.db, await findThread(storage.db, caller.userId, id));
  }

  async function update(caller: Caller, id: string, body: UpdateThreadBody): Promise<Thread> {
    const row = await storage.db
      .updateTable("thread")
      .set({
        updated_at: sql<Date>`now()`,
        ...defined({ title: body.title, is_pinned: body.is_pinned }),
        ...(body.metadata === undefined ? {} : { metadata: json(body.metadata) }),
      })
      .where("user_id", "=", caller.userId)
      .where("id", "=", id)
      .where("deleted_at", "is", null)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) throw missing(id);
    return show(storage.db, row);
  }

  return { create, list, get, update };
}

/** @throws {ApiProblem} thread_not_found: another user's is not there (law: not yours is not there) */
export async function findThread(db: Queries | Transaction, userId: number, id: string): Promise<ThreadRow> {
  const row = await db
    .selectFrom("thread")
    .selectAll()
    .where("user_id", "=", userId)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  if (row === undefined) throw missing(id);
  return row;
}

/** Holds a thread for the rest of the transaction: who decides about its queue waits here. Law: the queue is strict. */
export async function lockThread(trx: Transaction, pk: number): Promise<ThreadRow> {
  return trx.selectFrom("thread").selectAll().where("pk", "=", pk).forUpdate().executeTakeFirstOrThrow();
}

/** The thread of this id, made now where it is not there yet; held as by {@link lockThread}. */
export async function lockOrMakeThread(
  trx: Transaction,
  userId: number,
  id: string,
  agentId: number,
): Promise<ThreadRow> {
  await trx
    .insertInto("thread")
    .values({ user_id: userId, id, agent_id: agentId, session_id: randomUUID() })
    .onConflict((conflict) => conflict.columns(["user_id", "id"]).doNothing())
    .execute();
  return lockThread(trx, (await findThread(trx, userId, id)).pk);
}

function missing(id: string): ApiProblem {
  return new ApiProblem("thread_not_found", `there is no thread ${JSON.stringify(id)}`);
}

async function show(db: Queries, row: ThreadRow): Promise<Thread> {
  const { slug } = await db.selectFrom("agent").select("slug").where("id", "=", row.agent_id).executeTakeFirstOrThrow();
  return toThread(row, slug, (await viewQueues(db, [row.pk])).get(row.pk)?.status ?? "idle");
}

function toThread(row: ThreadRow, slug: string, status: Thread["status"]): Thread {
  return {
    id: row.id,
    agent_id: slug,
    title: row.title,
    metadata: { ...row.metadata },
    is_pinned: row.is_pinned,
    status,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
