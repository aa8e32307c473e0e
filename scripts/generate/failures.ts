import { writeFileSync } from "node:fs";
import type { DescribedRule, FailureDraft } from "../../src/turnd/daemon/executors/contract/failures.ts";
import { EXECUTORS } from "../../src/turnd/daemon/executors/registry.ts";
import { listCandidates, type Candidate } from "../../src/turnd/daemon/turns/outcome/conclude.ts";
import { KEEPER_LOST, OWN_FAILURES } from "../../src/turnd/daemon/turns/outcome/own-failure.ts";
import { STOP_REASONS } from "../../src/turnd/daemon/turns/outcome/stop-reasons.ts";
import { FAILURE_ADVICE, FailureCode } from "../../src/turnd/protocol/index.ts";
import { joinBlocks, table } from "./reference-tables.ts";

/** Where the failure table is kept. */
export const FAILURES_PATH = new URL("../../docs/failures.md", import.meta.url);

/** The failure table as the sources have it now: codes, the order of deciding, and every rule with where it was seen. */
export function renderFailures(): string {
  return joinBlocks([
    "# Failures",
    "Made from the source by `npm exec -- node scripts/generate/failures.ts`; a test fails when it is stale.",
    "Every turn that does not complete has one code of a closed list. The code says whether a retry can help (`retryable`) and who has to act (`user_action`); `message` says in a sentence what happened and what to do; `evidence` quotes the lines that decided, with file and number.",
    "## How an end is decided",
    "Rules are tried in order, and the first that matches wins. `GET /v1/turns/{turn_id}/result` names it in `decision`, with `?explain=true` all that were tried; `turnd replay --explain <dir>…` shows the same for a recording. What the CLI left behind is tried rule by rule, in the order of its table below: fields of its records, then how it ended, then its stderr, and last what only guesses.",
    table(
      ["", "rule", "looks at", "ends the turn as", "when"],
      orderRows().map((row, index) => [String(index + 1), ...row]),
    ),
    "A proven cause outweighs the watchdog that noticed it; a guess does not.",
    "## Codes",
    ...FailureCode.options.map(renderCode),
    "## Tables",
    ...EXECUTORS.flatMap(({ id, failureRules }) => [
      `### ${id}`,
      "In deciding order.",
      table(
        ["", "rule", "looks at", "code", "seen in"],
        failureRules.map((rule, index) => [
          String(index + 1),
          `\`${rule.rule}\``,
          rule.on,
          linkTo(rule.code),
          seen(rule),
        ]),
      ),
    ]),
  ]);
}

function renderCode(code: FailureCode): string {
  const { meaning, remedy, retryable, userAction } = FAILURE_ADVICE[code];
  const rows = [
    ...ownRows(code),
    ...EXECUTORS.flatMap(({ id, failureRules }) =>
      failureRules.filter((rule) => rule.code === code).map((rule) => [id, `\`${rule.rule}\``, rule.on, seen(rule)]),
    ),
  ];
  return [
    `### ${code}`,
    `The turn failed because ${meaning}. Retryable: ${retryable ? "yes" : "no"}. User action: \`${userAction}\`. What to do: ${remedy}.`,
    table(["by", "rule", "looks at", "seen in"], rows),
  ].join("\n\n");
}

function ownRows(code: FailureCode): string[][] {
  const stops = Object.entries(STOP_REASONS).filter(([, stop]) => stop.code === code);
  const own = OWN_FAILURES[code];
  return [
    ...stops.map(([reason, { message }]) => ["turnd", `\`turnd/${reason}\``, "turnd", message]),
    ...(KEEPER_LOST.code === code ? [["turnd", `\`${KEEPER_LOST.rule}\``, "turnd", KEEPER_LOST.message]] : []),
    ...(own === undefined ? [] : [["turnd", `\`turnd/${code}\``, "turnd", own]]),
  ];
}

/** The order, from the code that decides: what it lists for a turn whose process left a proven cause, and for a guess. */
function orderRows(): string[][] {
  const messages = new Map<string, string>(
    Object.entries(STOP_REASONS).map(([reason, { message }]) => [`turnd/${reason}`, message]),
  );
  messages.set(KEEPER_LOST.rule, KEEPER_LOST.message);
  messages.set("turnd/halt", "turnd could not run the turn, or stopped its process for what it printed.");
  messages.set("completed", "The last record and the exit prove that the turn was completed.");
  const proven = listWith({ ...KEEPER_LOST, rule: "the CLI's table", on: "record", isProven: true });
  const guess = listWith({
    ...KEEPER_LOST,
    rule: "the CLI's table, where it only guesses",
    on: "exit",
    isProven: false,
  });
  return [...proven, ...guess.slice(-1)].map(({ rule, on, verdict }) => {
    const message = messages.get(rule);
    if (message === undefined)
      return [rule, "record, exit, stderr", "the rule's code", "A rule of the table below matches."];
    return [`\`${rule}\``, on, verdict === undefined ? "its own code" : `\`${verdict}\``, message];
  });
}

function listWith(failure: FailureDraft): readonly Candidate[] {
  const ending = { events: [], output: null, nativeSessionId: null, isResumed: false, failure };
  return listCandidates({ endedBy: null, exit: { code: 1, signal: null }, isDegraded: false, ending });
}

function seen({ seenIn }: DescribedRule): string {
  if (seenIn.startsWith("cli-")) return `[${seenIn}](../fixtures/${seenIn})`;
  return seenIn.replace(/^docs\/(\S+\.md).*$/, "[$&]($1)");
}

function linkTo(code: FailureCode): string {
  return `[\`${code}\`](#${code})`;
}

if (import.meta.main) writeFileSync(FAILURES_PATH, renderFailures());
