import * as z from "zod";
import { ApprovalDecision, ApprovalRequest, InputRequest } from "./interactive-events.ts";

/** What a turn waits for: `GET /v1/turns/{id}/approvals`. */
export const TurnApprovals = z
  .strictObject({
    turn_id: z.string().describe("The turn's id."),
    approvals: z.array(ApprovalRequest).describe("What it asks to be allowed, oldest first."),
    questions: z.array(InputRequest).describe("What its model asks, oldest first."),
  })
  .meta({ id: "TurnApprovals", description: "What a turn waits for a person to answer." });
export type TurnApprovals = z.infer<typeof TurnApprovals>;

const MAX_ANSWER_CHARACTERS = 65_536;

/** Body of `POST /v1/turns/{id}/approvals/{approval_id}`. Unknown fields are refused. */
export const ApprovalAnswer = z
  .strictObject({
    decision: ApprovalDecision,
    note: z
      .string()
      .min(1)
      .max(MAX_ANSWER_CHARACTERS)
      .optional()
      .describe("Why, in a person's words. It is kept with the answer, and a `decline`'s is said to the model."),
  })
  .meta({ id: "ApprovalAnswer", description: "What is decided. Unknown fields are refused." });
export type ApprovalAnswer = z.infer<typeof ApprovalAnswer>;

/** Body of `POST /v1/turns/{id}/questions/{question_id}`. Unknown fields are refused. */
export const QuestionAnswer = z
  .strictObject({
    answers: z
      .record(z.string().max(256), z.array(z.string().max(MAX_ANSWER_CHARACTERS)).max(100))
      .describe("By the id of each question: the labels of the options that are chosen, or a text."),
  })
  .meta({ id: "QuestionAnswer", description: "What is answered. Unknown fields are refused." });
export type QuestionAnswer = z.infer<typeof QuestionAnswer>;
