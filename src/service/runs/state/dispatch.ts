import { sql } from "kysely";
import { defined } from "../../../kit/defined.ts";
import { modelOf } from "../../agents/models.ts";
import { digestOf, keepManifest, type Manifest } from "../../agents/manifest.ts";
import type { AgentRow } from "../../agents/agents.ts";
import { Permissions } from "../../../turnd/protocol/index.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Payload } from "../../protocol/events.ts";
import { credentialOf, type Caller } from "../../auth/caller.ts";
import { may, PERMISSIONS } from "../../auth/permissions.ts";
import { json } from "../../storage/storable.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Transaction } from "../../storage/transaction.ts";
import { traceFields } from "./trace-id.ts";
import {
  eventRows,
  noticeOfEvents,
  noticeOfRequests,
  notifyRequests,
  readManifest,
  readContent,
  type RequestContent,
  type RequestOptions,
  type RequestRow,
  type RunRow,
} from "./rows.ts";

/**
 * Makes the run of a request: the run with its first event, and its job, in the transaction that holds the thread.
 *
 * @param known - what this transaction has already: what the request asks for, and the thread's agent, which its user may use
 * @throws {ApiProblem} when the agent may not be used any more
 */
export async function dispatch(
  storage: Storage,
  trx: Transaction,
  request: RequestRow,
  known?: RequestContent & { readonly agent: AgentRow },
): Promise<RunRow> {
  const { input, options } = known ?? readContent(request);
  const manifest =
    request.manifest_digest === null
      ? manifestOf(known?.agent ?? (await findAgent(trx, request)), options)
      : await readManifest(trx, request.manifest_digest);
  const digest = request.manifest_digest ?? digestOf(manifest);
  const runId = request.planned_run_id;
  const payload = describeRun(request, manifest, { input, options, digest });
  // One statement: each of its own would cost the thread's holder a round trip.
  const {
    events: _events,
    requests: _requests,
    ...run
  } = await trx
    .with("kept", (db) =>
      db
        .insertInto("manifest")
        .values({ digest, body: json(manifest) })
        .onConflict((conflict) => conflict.column("digest").doNothing()),
    )
    .with("made", (db) =>
      db
        .insertInto("run")
        .values({
          id: runId,
          request_pk: request.pk,
          thread_pk: request.thread_pk,
          user_id: request.user_id,
          parent_run_id: input.parent_run_id ?? null,
          status: "pending",
          manifest_digest: digest,
          // A steer that was assigned to a turn of turnd is there, or may be.
          turn_request_id: request.handed_at === null ? null : runId,
          last_seq: 1,
          evaluation: options.evaluation === undefined ? null : json(options.evaluation),
        })
        .returningAll(),
    )
    .with("written", (db) => db.insertInto("run_event").values(eventRows(runId, 0, [{ event: "metadata", payload }])))
    .with("dispatched", (db) =>
      db
        .updateTable("run_request")
        .set({
          status: "dispatched",
          revision: request.revision + 1,
          dispatched_at: sql<Date>`now()`,
          updated_at: sql<Date>`now()`,
        })
        .where("pk", "=", request.pk),
    )
    .with("used", (db) =>
      db
        .updateTable("thread")
        .set({ updated_at: sql<Date>`now()` })
        .where("pk", "=", request.thread_pk),
    )
    .selectFrom("made")
    .selectAll()
    .select([noticeOfRequests(request.thread_pk).as("requests"), noticeOfEvents(runId).as("events")])
    .executeTakeFirstOrThrow();
  await storage.jobs.send(trx, "run", run.id);
  return run;
}

/**
 * Dispatches the first waiting request of a thread that nothing blocks, steer first. One whose agent or user is gone fails, and
 * the next is tried.
 */
export async function dispatchHead(storage: Storage, trx: Transaction, threadPk: number): Promise<RunRow | undefined> {
  for (;;) {
    const head = await trx
      .selectFrom("run_request")
      .selectAll()
      .where("thread_pk", "=", threadPk)
      .where("status", "=", "queued")
      .orderBy(sql`(queue_policy = 'steer')`, "desc")
      .orderBy("pk")
      .limit(1)
      .executeTakeFirst();
    if (head === undefined) return undefined;
    try {
      // One that was frozen for a steer that turnd never got: who may not use the agent any more gets no run of it.
      if (head.manifest_digest !== null && head.handed_at === null) await findAgent(trx, head);
      return await dispatch(storage, trx, head);
    } catch (error) {
      // Thrown before anything of the dispatch was written.
      if (!(error instanceof ApiProblem)) throw error;
      await trx
        .updateTable("run_request")
        .set({
          status: "failed",
          revision: head.revision + 1,
          error: json({ code: error.code, message: error.message }),
          updated_at: sql<Date>`now()`,
        })
        .where("pk", "=", head.pk)
        .execute();
      await notifyRequests(trx, threadPk);
    }
  }
}

/** What a resume keeps of the run that it resumes. */
type ParentOptions = Pick<Manifest, "model_spec" | "tool_approval_mode">;

/** The agent as it is now, with what the request asks of it; only who may use it gets one. @throws {ApiProblem} */
export async function freezeManifest(
  trx: Transaction,
  request: Pick<RequestRow, "user_id" | "thread_pk" | "api_key_id" | "input" | "options">,
): Promise<Buffer> {
  return keepManifest(trx, manifestOf(await findAgent(trx, request), readContent(request).options));
}

/** The agent of a request's thread, for who may still use it. @throws {ApiProblem} agent_not_found, unauthorized */
async function findAgent(
  trx: Transaction,
  request: Pick<RequestRow, "user_id" | "thread_pk" | "api_key_id">,
): Promise<AgentRow> {
  const { username, user_role, user_department_id, is_user_enabled, ...agent } = await trx
    .selectFrom("agent")
    .innerJoin("thread", "thread.agent_id", "agent.id")
    .innerJoin("account", (join) => join.on("account.id", "=", request.user_id))
    .selectAll("agent")
    .select(["account.username", "account.role as user_role", "account.department_id as user_department_id"])
    .select(sql<boolean>`account.is_enabled and account.deleted_at is null`.as("is_user_enabled"))
    .where("thread.pk", "=", request.thread_pk)
    .executeTakeFirstOrThrow();
  if (!is_user_enabled) throw new ApiProblem("unauthorized", `the user ${username} is disabled or deleted`);
  const caller: Caller = {
    userId: request.user_id,
    username,
    role: user_role,
    departmentId: user_department_id,
    credential: credentialOf(request.api_key_id),
  };
  if (!agent.is_enabled || !may(caller, PERMISSIONS.useAgent, agent)) {
    throw new ApiProblem("agent_not_found", `the agent ${agent.slug} is disabled, or no longer shared with you`);
  }
  return agent;
}

/** What a run needs of an agent, with what its request asks. @throws {ApiProblem} model_unknown */
export function manifestOf(agent: AgentRow, options: RequestOptions, inherited?: ParentOptions): Manifest {
  const isOwn = inherited === undefined;
  return {
    agent_slug: agent.slug,
    agent_name: agent.name,
    executor: agent.executor,
    mode: agent.mode,
    // The sandbox's own model, null, is kept as one.
    model_spec: isOwn
      ? modelOf(agent, options.model_spec)
      : inherited.model_spec === null
        ? null
        : modelOf(agent, inherited.model_spec),
    tool_approval_mode: isOwn ? (options.tool_approval_mode ?? agent.tool_approval_mode) : inherited.tool_approval_mode,
    permissions: Permissions.parse(agent.permissions),
    limits: agent.limits,
    ...(agent.instructions.trim() === "" ? {} : { instructions: agent.instructions }),
    ...(agent.knowledge_bases.length === 0 ? {} : { knowledge_bases: agent.knowledge_bases }),
  };
}

function describeRun(
  request: RequestRow,
  manifest: Manifest,
  { input, options, digest }: RequestContent & { readonly digest: Uint8Array },
): Payload {
  return {
    ...traceFields(request.traceparent),
    run_type: request.kind,
    source: request.source,
    agent_slug: manifest.agent_slug,
    agent_name: manifest.agent_name,
    executor: manifest.executor,
    mode: manifest.mode,
    ...(manifest.model_spec === null ? {} : { model_spec: manifest.model_spec }),
    tool_approval_mode: manifest.tool_approval_mode,
    ...defined({ created_by_run_id: input.parent_run_id }),
    manifest_digest: Buffer.from(digest).toString("hex"),
    ...defined({ evaluation: options.evaluation }),
  };
}
