import type { Decision, Evidence, TriedRule, TurnEndedData } from "../../protocol/index.ts";

/** Where a person finds a quoted line: the file of a recording's directory. */
const FILES = { stdout: "stdout.jsonl", stderr: "stderr.log", exit: "exit.json", turnd: "turn.json" } as const;
const OUTCOMES = { won: "won", outranked: "outranked", no_match: "no match" } as const;
const HEAD = ["", "on", "rule", "verdict", "outcome", "where", "seen in"] as const;

/**
 * Writes for a person how a recording's end was decided: the result, the lines that decided, and the rules in the order
 * in which they were tried; `>` marks the one that won.
 */
export function formatExplanation(directory: string, ended: TurnEndedData, decision: Decision): string {
  const { failure, status } = ended;
  const advice =
    failure === undefined
      ? []
      : [`retryable ${failure.retryable ? "yes" : "no"}, user_action ${failure.user_action}`, failure.message];
  return [
    directory,
    ...[[status, failure?.code ?? ended.cancelled_by ?? ""].join(" ").trim(), ...advice].map(
      (line) => `  ${plain(line)}`,
    ),
    "  decided by",
    ...decision.evidence.map((evidence) => `    ${place(evidence)}  ${plain(evidence.text)}`),
    "  rules, in the order they were tried",
    ...align([HEAD, ...(decision.tried ?? []).map(toRow)]).map((line) => `    ${line}`),
    "",
    "",
  ].join("\n");
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

/** On one line, and without effect on a terminal: other programs wrote what is quoted. */
function plain(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what this removes
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, (character) =>
    character === "\n" ? "⏎" : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
