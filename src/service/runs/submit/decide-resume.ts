import { keepManifest, type Manifest } from "../../agents/manifest.ts";
import { ApiProblem, InputProblem, ValidationProblem } from "../../protocol/problems.ts";
import { HumanDecisions, Interrupt } from "../../protocol/runs.ts";
import { complete, insert, type DecisionResult, type Decision } from "./decision.ts";
import { manifestOf } from "../state/dispatch.ts";
import { releaseRun } from "../state/requests.ts";
import { readManifest, type RequestOptions } from "../state/rows.ts";

/** Answers an interrupted run: releases it and dispatches the run that goes on, past the queue. @throws {ApiProblem, ValidationProblem} */
export async function decideResume(decision: Decision): Promise<DecisionResult> {
  const { trx, intent, thread } = decision;
  if (intent.queuePolicy !== "enqueue") {
    throw new InputProblem(
      "queue_policy_inapplicable",
      ["body", "queue_policy"],
      "a resume bypasses the queue: leave queue_policy out",
    );
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
  // It goes on with the model and the approval of what it resumes, whatever the agent's are now.
  const inherited = await readManifest(trx, parent.manifest_digest);
  assertInherits(inherited, intent.options);
  const manifest = await keepManifest(trx, manifestOf(decision.agent, intent.options, inherited));
  const request = await insert(decision, { kind: "resume", status: "queued", manifest });
  await releaseRun(trx, parent.id, request.planned_run_id);
  return complete(decision, request);
}

/** What a resume would change of what it inherits is refused, not ignored. @throws {ValidationProblem} */
function assertInherits(inherited: Manifest, asked: RequestOptions): void {
  for (const field of ["model_spec", "tool_approval_mode"] as const) {
    const value = asked[field];
    if (value === undefined || value === inherited[field]) continue;
    const msg = `a resume keeps that of the run it resumes, ${JSON.stringify(inherited[field])}: leave it out`;
    throw new ValidationProblem([{ loc: ["body", field], msg, type: "not_inherited" }]);
  }
}

function assertAnswers(interrupt: Interrupt, resume: Readonly<Record<string, unknown>>): void {
  if (interrupt.reason !== "human_approval") return;
  const parsed = HumanDecisions.safeParse(resume);
  if (parsed.success) return;
  throw new InputProblem(
    "resume_invalid",
    ["body", "resume"],
    'resume needs exactly one decision: {"decisions":[{"type":"approve" or "reject","message"?}]}',
  );
}
