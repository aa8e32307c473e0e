import type { Change } from "./compare.ts";
import type { Finding } from "./probe.ts";

/** Whether anything that was found breaks us; a CLI that cannot be run does. */
export function isBroken({ fault, scenarios }: Finding): boolean {
  return fault !== undefined || scenarios.some(({ changes }) => changes.some((change) => change.breaks));
}

/** Lines for people, newline included: what changed, by scenario, each with whether it breaks us. */
export function formatFinding(finding: Finding): string {
  const { executor, name, version, binary, fault, known_version: known, scenarios } = finding;
  if (fault !== undefined) return `${executor} (${name}) was not probed: ${printable(fault)}\n`;
  const changed = scenarios.filter(({ changes }) => changes.length > 0);
  const all = changed.flatMap(({ changes }) => changes);
  const broken = all.filter((change) => change.breaks).length;
  const lines = [
    `${executor}: ${name} ${version} (${binary}) beside the recordings of ${known}`,
    ...changed.flatMap(({ scenario, changes }) => [
      `  ${scenario}`,
      ...changes.map((change) => `    ${change.breaks ? "BREAKS" : "fine  "}  ${describe(change)}`),
    ]),
    `  ${scenarios.length} scenarios, ${all.length} changes, ${broken} of them break us`,
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}

function describe({ what, subject, was, is }: Change): string {
  if (was !== undefined && is !== undefined) return `other ${what}: ${subject} is ${is}, was ${was}`;
  if (is === undefined)
    return what === "field" ? `missing ${what}: ${subject} (${was})` : `missing ${what}: ${subject}`;
  return what === "field" ? `new ${what}: ${subject} (${is})` : `new ${what}: ${subject}`;
}

/** A CLI's words must not act on the terminal. */
function printable(line: string): string {
  return line.replaceAll(/[^\x20-\x7e]/g, "?");
}
