import type { Ending } from "../../executors/contract/translator.ts";
import { decideFailure } from "../../executors/classification/rules.ts";

/**
 * What only the records show of an end: everything that rests on how the process ended is taken out.
 *
 * @param ending - decided with a presumed exit
 */
export function withoutExit(ending: Ending): Ending {
  const { proof, failure } = ending;
  if (proof !== undefined) {
    return { ...ending, proof: { ...proof, evidence: proof.evidence.filter(({ source }) => source !== "exit") } };
  }
  if (failure?.basis === undefined) return ending;
  const { rules, facts } = failure.basis;
  return {
    ...ending,
    failure: decideFailure(
      rules,
      facts.filter(({ on }) => on !== "exit"),
      UNDECIDED,
    ),
  };
}

const UNDECIDED =
  "The output stops before the turn does, and how the process ended was not recorded: it may have been cancelled, " +
  "killed, or its output cut off.";
