import * as z from "zod";
import { Evidence, FailureCode } from "./failures.ts";

/** How a turn ends by a rule that wins. */
export const Verdict = z
  .enum(["completed", "cancelled", ...FailureCode.options])
  .meta({ id: "Verdict", description: "How a turn ends by a rule: completed, cancelled, or failed with this code." });
export type Verdict = z.infer<typeof Verdict>;

/** Where a rule looks, in deciding order: what turnd itself did, the last records, the exit, stderr. */
export const DecidedOn = z.enum(["turnd", "record", "exit", "stderr"]).meta({
  id: "DecidedOn",
  description: "Where a rule looks: what turnd itself did, the CLI's last records, the exit, stderr.",
});
export type DecidedOn = z.infer<typeof DecidedOn>;

/** One rule that was tried on what a turn left behind. */
export const TriedRule = z
  .strictObject({
    rule: z.string().describe("The rule's name, as docs/failures.md lists it."),
    verdict: Verdict.optional().meta({ description: "Absent for a rule that can give more than one." }),
    on: DecidedOn,
    outcome: z
      .enum(["won", "outranked", "no_match"])
      .meta({ description: "`outranked` rules match too, but stand behind the one that won." }),
    seen_in: z.string().optional().meta({ description: "The recording or section the rule comes from." }),
    evidence: Evidence.optional().meta({ description: "What matched." }),
  })
  .meta({ id: "TriedRule", description: "One rule that was tried on what a turn left behind." });
export type TriedRule = z.infer<typeof TriedRule>;

/** Which rule decided how a turn ended. Rules are tried in order; the first that matches wins. */
export const Decision = z
  .strictObject({
    rule: z.string().describe("The rule's name, as docs/failures.md lists it."),
    verdict: Verdict,
    on: DecidedOn,
    seen_in: z.string().optional().describe("The recording or section the rule comes from."),
    evidence: z
      .array(Evidence)
      .meta({ description: "What decided; for a completed turn the proof that it was completed." }),
    tried: z
      .array(TriedRule)
      .optional()
      .meta({ description: "Every rule tried, in deciding order; only with `explain=true`." }),
  })
  .meta({ id: "Decision", description: "Which rule decided how a turn ended. The first rule that matches wins." });
export type Decision = z.infer<typeof Decision>;
