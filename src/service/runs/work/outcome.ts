import type { Tolerant, TurnEndedData } from "../../../turnd/protocol/index.ts";
import { fromTurnd, runError } from "../state/failures.ts";
import type { Outcome } from "../state/finish.ts";
import type { Assignment } from "./turn-body.ts";
import { usageOfTurn } from "../state/usage.ts";

/**
 * How a turn's end ends its run; pure.
 *
 * @param planEntries - the last plan that was shown
 */
export function outcomeOf(
  ended: Tolerant<TurnEndedData>,
  work: Extract<Assignment, { kind: "turn" }>,
  planEntries: readonly unknown[] | undefined,
): Outcome {
  const output = ended.output ?? "";
  const common = { output, usage: usageOfTurn(ended), isDegraded: ended.degraded };
  switch (ended.status) {
    case "completed":
      if (!work.needsApproval) return { ...common, status: "completed" };
      return {
        ...common,
        status: "interrupted",
        interrupt: {
          reason: "human_approval",
          plan: { text: output, ...(planEntries === undefined ? {} : { entries: [...planEntries] }) },
        },
      };
    case "cancelled":
      // Steered: what it has done stands, and the steer goes on from there.
      if (ended.cancelled_by === "steer") return { ...common, status: "completed", reason: "steered" };
      return { ...common, status: "cancelled", reason: "cancelled_by_user" };
    case "failed": {
      const { failure } = ended;
      if (failure === undefined)
        return { ...common, status: "failed", error: runError("unknown", "the turn failed without a reason") };
      return { ...common, status: "failed", error: fromTurnd(failure), evidence: failure.evidence };
    }
    default:
      // Of a newer turnd: whatever it means, completion is not proved.
      return { ...common, status: "failed", error: runError("unknown", `the turn ended as ${ended.status}`) };
  }
}
