import type { Decision, TriedRule } from "../../protocol/index.ts";
import { tryRules } from "../executors/rules.ts";
import { decide, listCandidates, type Candidate, type TurnFacts } from "./classify.ts";

/**
 * Shows how a turn's end was decided: every rule that was tried, in deciding order, and the one that won.
 *
 * The first rule that matches wins; those after it that match too are outranked.
 */
export function explainTurn(facts: TurnFacts): Decision {
  const { rule, on, verdict, seenIn, evidence = [] } = decide(facts);
  const rows = listCandidates(facts).flatMap(toRows);
  const first = rows.findIndex(({ outcome }) => outcome !== "no_match");
  return {
    rule,
    verdict: verdict ?? "unknown",
    on,
    ...(seenIn === undefined ? {} : { seen_in: seenIn }),
    evidence: [...evidence],
    tried: rows.map((row, index) => (index === first ? { ...row, outcome: "won" } : row)),
  };
}

/** A table's rules one by one, and a row for what none of them explains; anything else is one row. */
function toRows({ rule, on, verdict, seenIn, evidence, draft }: Candidate): readonly TriedRule[] {
  const table = draft?.basis === undefined ? [] : tryRules(draft.basis);
  if (table.some(({ outcome }) => outcome !== "no_match")) return table;
  const [first] = evidence ?? [];
  return [
    ...table,
    {
      rule,
      ...(verdict === undefined ? {} : { verdict }),
      on,
      outcome: evidence === undefined ? "no_match" : "outranked",
      ...(seenIn === undefined ? {} : { seen_in: seenIn }),
      ...(first === undefined ? {} : { evidence: first }),
    },
  ];
}
