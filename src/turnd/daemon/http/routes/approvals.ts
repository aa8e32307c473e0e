import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { ApprovalAnswer, QuestionAnswer, TurnApprovals } from "../../../protocol/index.ts";
import { ApprovalPath, QuestionPath, TurnPath } from "../../../protocol/requests.ts";
import type { TurnService } from "../../turns/turn-service.ts";
import { refusals } from "../refusals.ts";

const tags = ["turns"];

/** What a turn asks of people, and their answers. */
export const approvalRoutes: FastifyPluginAsyncZod<{ readonly service: TurnService }> = async (app, { service }) => {
  const list = {
    tags,
    operationId: "listApprovals",
    summary: "List what a turn waits for",
    description:
      "Approvals and questions that have no answer yet. Only a turn that is interactive, and asks (`permissions.approval`), has any.",
    params: TurnPath,
    response: { 200: TurnApprovals, ...refusals("turn_not_found") },
  };
  app.get("/v1/turns/:turn_id/approvals", { schema: list }, async ({ params }) => service.approvals(params.turn_id));

  const decide = {
    tags,
    operationId: "answerApproval",
    summary: "Allow or decline",
    description:
      "Once. The answer is on the disk before the CLI has it, and survives a restart of turnd. The same again is answered alike; " +
      "another one is refused. `cancel` ends the turn as `cancelled`. What nobody answers within `TURND_APPROVAL_TIMEOUT_MS` is declined.",
    params: ApprovalPath,
    body: ApprovalAnswer,
    response: {
      200: TurnApprovals,
      ...refusals(
        ...(["invalid_json", "turn_not_found", "approval_not_found", "turn_ended"] as const),
        ...(["approval_resolved", "body_too_large", "unsupported_media_type", "invalid_request"] as const),
      ),
    },
  };
  app.post("/v1/turns/:turn_id/approvals/:approval_id", { schema: decide }, async ({ params, body }) =>
    service.decide(params.turn_id, params.approval_id, body),
  );

  const answer = {
    tags,
    operationId: "answerQuestion",
    summary: "Answer what a model asks",
    description: "As an approval: once, and kept.",
    params: QuestionPath,
    body: QuestionAnswer,
    response: {
      200: TurnApprovals,
      ...refusals(
        ...(["invalid_json", "turn_not_found", "approval_not_found", "turn_ended"] as const),
        ...(["approval_resolved", "body_too_large", "unsupported_media_type", "invalid_request"] as const),
      ),
    },
  };
  app.post("/v1/turns/:turn_id/questions/:question_id", { schema: answer }, async ({ params, body }) =>
    service.answerQuestion(params.turn_id, params.question_id, body.answers),
  );
};
