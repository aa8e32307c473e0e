import { sql } from "kysely";
import { keepManifest } from "../../agents/manifest.ts";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Transaction } from "../../storage/transaction.ts";
import { complete, insert, type DecisionResult, type Decision } from "./decision.ts";
import { manifestOf } from "../state/dispatch.ts";
import type { Intent } from "./intent.ts";
import { notifyRequests } from "../state/rows.ts";
import type { Blocking } from "./submission-facts.ts";

/** Dispatches a request where its thread is idle; else queues it, rejects it, or makes it a steer. @throws {ApiProblem} */
export async function decideOrdinary(decision: Decision): Promise<DecisionResult> {
  const { intent } = decision;
  const { blocking, waiting, hasSteer } = decision.facts;
  if (blocking?.status === "interrupted") {
    throw new ApiProblem("run_interrupted", "the thread waits for an answer: resume its run, or cancel it", {
      blocking_run_id: blocking.id,
    });
  }
  if (blocking === undefined && waiting === 0) {
    return complete(decision, await insert(decision, { kind: "chat", status: "queued" }));
  }
  if (intent.queuePolicy === "reject") {
    const error = { code: "thread_busy", message: "the thread is busy", active_run_id: blocking?.id ?? null };
    return { request: await insert(decision, { kind: "chat", status: "rejected", error }), run: undefined };
  }
  if (waiting >= decision.maxQueued) {
    throw new ApiProblem("queue_full", `${waiting} requests wait in this thread already`);
  }
  if (intent.queuePolicy === "steer") return addSteer(decision, blocking, hasSteer);
  const request = await insert(decision, { kind: "chat", status: "queued", isNoticed: true });
  return { request, run: undefined, position: waiting + 1 };
}

async function addSteer(
  decision: Decision,
  blocking: Blocking | undefined,
  hasSteer: boolean,
): Promise<DecisionResult> {
  const { trx, thread, intent } = decision;
  const target = await assertSteerable(trx, blocking, intent.source);
  if (hasSteer)
    throw new ApiProblem("steer_already_pending", "another steer waits already", { active_run_id: target.id });
  // Frozen now: its turn is sent before it is dispatched, and both must be one body.
  const manifest = await keepManifest(trx, manifestOf(decision.agent, intent.options));
  const request = await insert(decision, { kind: "chat", status: "queued", steerTarget: target.id, manifest });
  await sql`select pg_notify('svc_control', ${target.id})`.execute(trx);
  await notifyRequests(trx, thread.pk);
  return { request, run: undefined };
}

/** The run that a steer turns. @throws {ApiProblem} run_not_steerable */
export async function assertSteerable(
  trx: Transaction,
  blocking: Blocking | undefined,
  source: Intent["source"],
): Promise<Blocking> {
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
