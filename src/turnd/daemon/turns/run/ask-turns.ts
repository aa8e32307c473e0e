import { defined } from "../../../../kit/defined.ts";
import { ProblemError, type ApprovalAnswer, type QuestionAnswer, type TurnApprovals } from "../../../protocol/index.ts";
import type { AskAnswer } from "../../executors/contract/interactive.ts";
import { hasEnded, type Turn } from "../lifecycle/turn.ts";

/** What people are asked in turns, and their answers. */
export interface TurnQuestions {
  /** @throws {ProblemError} turn_not_found */
  approvals(turnId: string): TurnApprovals;
  /**
   * Answers once; the same again is no harm. The answer is on the disk before the CLI has it.
   *
   * @throws {ProblemError} turn_not_found, turn_ended, approval_not_found, approval_resolved, invalid_request
   */
  decide(turnId: string, approvalId: string, answer: ApprovalAnswer): TurnApprovals;
  /** The same for what a model asks. */
  answerQuestion(turnId: string, questionId: string, answers: QuestionAnswer["answers"]): TurnApprovals;
}

/** @param find - throws turn_not_found */
export function createTurnQuestions(find: (turnId: string) => Turn): TurnQuestions {
  function approvals(turnId: string): TurnApprovals {
    const pending = find(turnId).asks()?.pending() ?? [];
    return {
      turn_id: turnId,
      approvals: pending.flatMap((ask) => (ask.kind === "approval" ? [ask.request] : [])),
      questions: pending.flatMap((ask) => (ask.kind === "input" ? [ask.request] : [])),
    };
  }

  function answer(turnId: string, id: string, given: AskAnswer): TurnApprovals {
    const turn = find(turnId);
    if (hasEnded(turn)) throw new ProblemError("turn_ended", `turn ${turnId} has ended`, { turn_id: turnId });
    const taken = turn.asks()?.answer(id, given) ?? "unknown";
    if (taken === "unknown") throw new ProblemError("approval_not_found", `turn ${turnId} does not ask ${id}`);
    if (taken === "resolved") {
      throw new ProblemError("approval_resolved", `${id} of turn ${turnId} has another answer already`);
    }
    return approvals(turnId);
  }

  return {
    approvals,
    decide(turnId, approvalId, { decision, note }) {
      const asked = approvals(turnId).approvals.find(({ approval_id: id }) => id === approvalId);
      if (asked !== undefined && !asked.choices.includes(decision)) {
        const message = `${decision} cannot be answered here; it can be ${asked.choices.join(", ")}`;
        throw new ProblemError("invalid_request", message, { fields: [{ path: "decision", message }] });
      }
      const left = answer(turnId, approvalId, { kind: "approval", decision, ...defined({ note }) });
      // The CLI interrupts its turn: that is a cancel like any other.
      if (decision === "cancel") void find(turnId).send({ type: "stop_requested", reason: "cancel" });
      return left;
    },
    answerQuestion: (turnId, questionId, answers) => answer(turnId, questionId, { kind: "input", answers }),
  };
}
