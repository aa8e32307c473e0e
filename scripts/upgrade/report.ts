import { stripVTControlCharacters } from "node:util";
import { compareVersions } from "../../src/daemon/doctor/clis.ts";
import type { StepResult, Trial } from "./steps.ts";

/** What is said of one version when everything has run. */
export interface Report {
  readonly text: string;
  /** Whether something breaks, so that a person has to change something first. */
  readonly isBroken: boolean;
}

/** How the lines are recognised that a person has to act on. */
const FINDS: Readonly<Record<StepResult["name"], (output: string) => readonly string[]>> = {
  probe: (output) => between(output, /^ {2}BREAKS$/, /^$/),
  matrix: readWrong,
  scenes: readWrong,
  tests: (output) => output.split("\n").filter((line) => /^\s*(?:FAIL|Test Files) /.test(line)),
};

/** What turnd reads otherwise than it is labelled. */
function readWrong(output: string): readonly string[] {
  return output.split("\n").filter((line) => line.startsWith("! "));
}

/**
 * Lists what is left to decide, in the order of the work.
 *
 * @param isPinned - whether `sandbox/versions` has the version now
 * @param measured - the oldest and the newest version that turnd was measured with
 */
export function writeReport(
  { cli, version, directory }: Pick<Trial, "cli" | "version" | "directory">,
  steps: readonly StepResult[],
  isPinned: boolean,
  measured: readonly [oldest: string, newest: string],
): Report {
  const broken = steps.filter(({ exitCode }) => exitCode !== 0);
  const lines = [
    `${cli.executor}: ${cli.name} ${version}`,
    "",
    ...steps.flatMap((step) => describeStep(step, directory)),
    "Left to decide:",
    ...(broken.length === 0
      ? ["- nothing breaks"]
      : ["- what breaks above: docs/upgrading-a-cli.md says how each kind is fixed"]),
    ...(isPinned
      ? decisions(cli.executor, version, measured)
      : [`- whether to pin it: npm run upgrade-cli -- ${cli.executor} ${version}`]),
  ];
  return { text: `${lines.join("\n")}\n`, isBroken: broken.length > 0 };
}

function describeStep({ name, exitCode, output }: StepResult, directory: string): string[] {
  const found = FINDS[name](stripVTControlCharacters(output));
  const verdict = exitCode === 0 ? "nothing breaks" : `exit code ${exitCode}`;
  return [`${name}: ${verdict} (${directory}/${name}.txt)`, ...found.map((line) => `  ${line.trimEnd()}`), ""];
}

function decisions(executor: string, version: string, [oldest, newest]: readonly [string, string]): string[] {
  const isNewer = compareVersions(version, newest) > 0;
  const isOlder = compareVersions(version, oldest) < 0;
  const range = isNewer ? `${oldest} to ${version}` : `${version} to ${newest}`;
  return [
    `- which recordings become fixtures: fixtures/${executor}/${version}/<behaviour>, each with its expected.json`,
    `- what docs/contracts/${executor}.md says of ${version}`,
    ...(isNewer || isOlder
      ? [`- measuredVersions in src/daemon/executors/${executor}/adapter.ts: ${range}, once the above is done`]
      : []),
    ...(isNewer
      ? [
          "- whether the image takes it by default: sandbox/package.json, then scripts/generate/shapes.ts and probe-baseline.ts",
        ]
      : []),
  ];
}

/** The lines after the first one that matches, up to the next empty one. */
function between(text: string, first: RegExp, last: RegExp): string[] {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => first.test(line));
  if (start < 0) return [];
  const length = lines.slice(start + 1).findIndex((line) => last.test(line));
  return lines.slice(start + 1, length < 0 ? undefined : start + 1 + length);
}
