import type { Decision, Evidence, TriedRule, TurnEndedData } from "../protocol/index.ts";
import type { RecordingSource } from "../daemon/replay/source.ts";
import { toPrintable } from "./printable.ts";

/** The file of a recording's directory that a quoted line is in. */
const FILES = { stdout: "stdout.jsonl", stderr: "stderr.log", exit: "exit.json", turnd: "turn.json" } as const;
const OUTCOMES = { won: "won", outranked: "outranked", no_match: "no match" } as const;
const HEAD = ["", "on", "rule", "verdict", "outcome", "where", "seen in"] as const;

/**
 * Writes for a person how a recording's end was decided: the result, the lines and the rule that decided, and on request
 * the rules in the order in which they were tried; `>` marks the one that won.
 */
export function formatExplanation(
  source: RecordingSource,
  ended: TurnEndedData,
  decision: Decision,
  { hasRules }: { readonly hasRules: boolean },
): string {
  const { failure, status } = ended;
  const advice =
    failure === undefined
      ? []
      : [`retryable ${failure.retryable ? "yes" : "no"}, user_action ${failure.user_action}`, failure.message];
  return [
    toPrintable(source.name),
    ...describeOutput(source),
    ...[[status, failure?.code ?? ended.cancelled_by ?? ""].join(" ").trim(), ...advice].map(
      (line) => `  ${toPrintable(line)}`,
    ),
    "  decided by",
    ...(decision.evidence.length === 0 ? ["    nothing that was printed"] : decision.evidence.map(toLine)),
    `  by the rule ${decision.rule}, on ${decision.on}${decision.seen_in === undefined ? "" : `, seen in ${decision.seen_in}`}`,
    ...(hasRules ? describeRules(decision) : []),
    "",
    "",
  ].join("\n");
}

function describeRules({ tried = [] }: Decision): string[] {
  return ["  rules, in the order they were tried", ...align([HEAD, ...tried.map(toRow)]).map((line) => `    ${line}`)];
}

function toLine(evidence: Decision["evidence"][number]): string {
  return `    ${place(evidence)}  ${toPrintable(evidence.text)}`;
}

function toRow({ rule, verdict, on, outcome, seen_in: seenIn = "", evidence }: TriedRule): readonly string[] {
  const where = evidence === undefined ? "" : place(evidence);
  return [outcome === "won" ? ">" : "", on, rule, verdict ?? "–", OUTCOMES[outcome], where, seenIn];
}

function place({ source, line }: Evidence): string {
  return line === undefined ? FILES[source] : `${FILES[source]}:${line}`;
}

function align(rows: readonly (readonly string[])[]): string[] {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** What is known of output that has no recording. */
function describeOutput({ origin, recording }: RecordingSource): string[] {
  if (origin === undefined) return [];
  const like = origin.printedLike === undefined ? "" : `, in the form of ${origin.printedLike}`;
  const exit = recording.isExitUnrecorded === true ? ["  its exit is not recorded; --exit says it"] : [];
  return [`  stdout of ${origin.executor}${like}`, ...exit];
}
