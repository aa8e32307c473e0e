import type { Change } from "./compare.ts";
import type { Finding } from "./probe.ts";

/** More scenarios than these are counted, not named: a change of every turn names them all. */
const NAMED_SCENARIOS = 3;

/** What to do about a change that breaks turnd, by what it is of. */
const REMEDIES: Readonly<Record<Change["what"], string>> = {
  outcome: "`turnd replay --explain` of the recording names the rule that decided; widen it, or add one",
  event: "clients miss it: find its records in the recording, then read them in translate/",
  tool: "clients miss a call or its end: find it in the recording, then read it in translate/",
  type: "the translator reads these records: find what took their place, and take both",
  field: "the translator reads this field: find where the value is now, and read both",
};

/** One change, and the scenarios that show it. */
interface SharedChange {
  readonly change: Change;
  readonly scenarios: readonly string[];
}

/** Whether anything that was found breaks us; a CLI that cannot be run does. */
export function isBroken({ fault, scenarios }: Finding): boolean {
  return fault !== undefined || scenarios.some(({ changes }) => changes.some((change) => change.breaks));
}

/**
 * A page for people, newline included: what breaks turnd and what to do about it, then what is merely new. A change that
 * many scenarios show is one line.
 */
export function formatFinding(finding: Finding): string {
  const { executor, name, version, binary, fault, known_version: known, scenarios } = finding;
  if (fault !== undefined) return `${executor} (${name}) was not probed: ${printable(fault)}\n`;
  const shared = shareChanges(finding);
  const broken = shared.filter(({ change }) => change.breaks);
  const harmless = shared.filter(({ change }) => !change.breaks);
  const lines = [
    `${executor}: ${name} ${version} (${binary}) beside the recordings of ${known}`,
    `  ${scenarios.length} scenarios: ${count(broken.length, "change")} ${broken.length === 1 ? "breaks" : "break"} turnd, ${harmless.length} ${harmless.length === 1 ? "does" : "do"} not`,
    ...formatBroken(broken),
    ...(harmless.length === 0
      ? []
      : ["", "  CHANGED, and breaks nothing: kept in the recording", ...harmless.map(formatShared)]),
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}

function formatBroken(broken: readonly SharedChange[]): string[] {
  if (broken.length === 0) return [];
  const kinds = [...new Set(broken.map(({ change }) => change.what))];
  return [
    "",
    "  BREAKS",
    ...kinds.flatMap((kind) => [
      ...broken.filter(({ change }) => change.what === kind).map(formatShared),
      `      ${REMEDIES[kind]}`,
    ]),
  ];
}

function formatShared({ change, scenarios }: SharedChange): string {
  const named = scenarios.slice(0, NAMED_SCENARIOS).join(", ");
  const more = scenarios.length - NAMED_SCENARIOS;
  return `    ${describeChange(change)}  [${named}${more > 0 ? ` and ${more} more` : ""}]`;
}

/** Equal changes of several scenarios as one, those that most scenarios show first. */
function shareChanges({ scenarios }: Finding): SharedChange[] {
  const shared = new Map<string, { change: Change; scenarios: string[] }>();
  for (const { scenario, changes } of scenarios) {
    for (const change of changes) {
      const key = `${change.breaks} ${describeChange(change)}`;
      const entry = shared.get(key) ?? { change, scenarios: [] };
      if (!entry.scenarios.includes(scenario)) entry.scenarios.push(scenario);
      shared.set(key, entry);
    }
  }
  return [...shared.values()].toSorted((left, right) => right.scenarios.length - left.scenarios.length);
}

function describeChange({ what, subject, was, is }: Change): string {
  if (was !== undefined && is !== undefined) return `other ${what}: ${subject} is ${is}, was ${was}`;
  if (is === undefined)
    return what === "field" ? `missing ${what}: ${subject} (${was})` : `missing ${what}: ${subject}`;
  return what === "field" ? `new ${what}: ${subject} (${is})` : `new ${what}: ${subject}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** A CLI's words must not act on the terminal. */
function printable(line: string): string {
  return line.replaceAll(/[^\x20-\x7e]/g, "?");
}
