import { sql } from "kysely";
import { ApiProblem } from "../api/problems.ts";
import { HumanDecisions, Interrupt } from "../api/runs.ts";
import type { Transaction } from "../storage/transaction.ts";
import { complete, insert, type Decided, type Decision } from "./decision.ts";
import { RequestOptions, type RunRow } from "./rows.ts";

/** Answers an interrupted run: releases it and dispatches the run that goes on, past the queue. @throws {ApiProblem} */
export async function takeResume(decision: Decision): Promise<Decided> {
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
