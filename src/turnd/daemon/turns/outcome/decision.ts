import { defined } from "../../../../kit/defined.ts";
import type { Decision, Evidence, TriedRule, TurnEndedData, Verdict } from "../../../protocol/index.ts";
import { tryRules } from "../../executors/classification/rules.ts";
import { decide, listCandidates, type Candidate, type TurnFacts } from "./conclude.ts";
import { STOP_REASONS } from "./stop-reasons.ts";

/** How a turn ended, in one word. */
export function toVerdict({ status, failure }: TurnEndedData): Verdict {
  return failure?.code ?? (status === "cancelled" ? "cancelled" : "completed");
}

/**
 * Keeps a decision that is made again true to what was logged at the turn's end.
 *
 * The directory need not show everything turnd did or saw, such as a full disk, and rules may have changed since: where the
 * two differ, what was logged wins.
 * @param shown - what the turn's directory gives now; undefined when it gives nothing
 */
export function keepLogged(logged: TurnEndedData, shown: Decision | undefined): Decision {
  const verdict = toVerdict(logged);
  if (shown?.verdict === verdict) return shown;
  const [reason, meaning] =
    Object.entries(STOP_REASONS).find(([, { cancelledBy }]) => cancelledBy === logged.cancelled_by) ?? [];
  const isCancelled = logged.cancelled_by !== undefined && meaning !== undefined;
  const evidence: readonly Evidence[] = isCancelled
    ? [{ source: "turnd", text: meaning.message }]
    : (logged.failure?.evidence ?? []);
  const isOwn = evidence.length > 0 && evidence.every(({ source }) => source === "turnd");
  const rule = isOwn ? `turnd/${isCancelled ? reason : verdict}` : "as-logged";
  const decided = { rule, verdict, on: "turnd" } as const;
  const [first] = evidence;
  const others = (shown?.tried ?? []).map((row) =>
    row.outcome === "won" ? { ...row, outcome: "outranked" as const } : row,
  );
  return {
    ...decided,
    evidence: [...evidence],
    tried: [{ ...decided, outcome: "won", ...defined({ evidence: first }) }, ...others],
  };
}

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
    ...defined({ seen_in: seenIn }),
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
      ...defined({ verdict }),
      on,
      outcome: evidence === undefined ? "no_match" : "outranked",
      ...defined({ seen_in: seenIn, evidence: first }),
    },
  ];
}
