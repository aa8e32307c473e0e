import { stripVTControlCharacters } from "node:util";
import { compareVersions } from "../../src/turnd/daemon/doctor/clis.ts";
import type { StepResult, Trial } from "./steps.ts";

/** The report of one version. */
export interface Report {
  readonly text: string;
  /** Whether something breaks, and a person has to act first. */
  readonly isBroken: boolean;
}

/** Where the repository pins a version now: by default, beside the default in `sandbox/versions`, or not at all. */
export type Pin = "default" | "beside" | "none";

const STEPS = ["probe", "matrix", "scenes", "tests"] as const satisfies readonly StepResult["name"][];

/** Minutes of CLI B on two cores that had other work too; CLI A starts in seconds where CLI B takes a third of one. */
const MINUTES = { probe: 1, matrix: 12, scenes: 20 } as const;

/** How long the steps take, for a person who waits. */
export function describeDuration(names: readonly StepResult["name"][]): string {
  const parts = names.map((name) => (name === "tests" ? "tests the longest" : `${name} about ${MINUTES[name]} min`));
  return `${parts.join(", ")}, with codex on two busy cores; opencode takes several times as long. Matrix and scenes print how far they are and how long the rest takes`;
}

/** The finding of a step that did not run to its end. */
const LAST_LINES = 5;

/** Patterns of lines that a person has to act on. */
const FINDS: Readonly<Record<StepResult["name"], (output: string) => readonly string[]>> = {
  probe: (output) => between(output, /^ {2}BREAKS$/, /^$/),
  matrix: readWrong,
  scenes: readWrong,
  tests: readFailed,
};

/** Advice for them; the probe's lines have their own. */
const REMEDIES: Readonly<Record<StepResult["name"], (trial: TriedVersion) => readonly string[]>> = {
  probe: () => [],
  matrix: (trial) => explain(trial, "matrix"),
  scenes: (trial) => explain(trial, "scenes"),
  tests: ({ cli, version }) => [
    `again, after a change: npm run upgrade-cli -- ${cli.executor} ${version} --skip probe --skip matrix --skip scenes --test <file>`,
  ],
};

function explain({ cli, version, directory }: TriedVersion, step: "matrix" | "scenes"): readonly string[] {
  const recording = `${directory}/${step}/${cli.executor}/${version}/<name>`;
  return [`\`bin/turnd replay --explain ${recording}\` names the rule that decided; widen it, or add one`];
}

/** Each test that failed with the first line of why, and how many files there were. */
function readFailed(output: string): readonly string[] {
  const lines = output.split("\n");
  return lines.flatMap((line, index) => {
    if (/^\s*Test Files /.test(line)) return [line.trim()];
    // A test that fails in several projects, or beside others with the same reason, is listed without one.
    if (!/^\s*FAIL /.test(line)) return [];
    const next = lines[index + 1]?.trim() ?? "";
    return [line.trim(), ...(next === "" || next.startsWith("FAIL ") ? [] : [`  ${next}`])];
  });
}

/** The subject of a report. */
type TriedVersion = Pick<Trial, "cli" | "version" | "directory">;

/** Recordings that turnd reads otherwise than labelled. */
function readWrong(output: string): readonly string[] {
  return output.split("\n").filter((line) => line.startsWith("! "));
}

/**
 * Lists what is left to decide, in the order of the work.
 *
 * @param measured - the oldest and the newest version that turnd was measured with
 * @param next - the steps that are still to run; the first of them runs
 */
export function writeReport(
  trial: TriedVersion,
  steps: readonly StepResult[],
  pin: Pin,
  measured: readonly [oldest: string, newest: string],
  next: readonly StepResult["name"][] = [],
): Report {
  const { cli, version } = trial;
  const missing = STEPS.filter((name) => !next.includes(name) && steps.every((step) => step.name !== name));
  const broken = steps.filter(({ exitCode }) => exitCode !== 0);
  const lines = [
    `${cli.executor}: ${cli.name} ${version}`,
    "",
    ...steps.flatMap((step) => describeStep(step, trial)),
    ...(missing.length === 0 ? [] : [`not run: ${missing.join(", ")}`, ""]),
    ...(next.length === 0 ? [] : [`not finished: ${next.join(", ")}; the same command goes on`, ""]),
    "Left to decide:",
    ...(broken.length === 0
      ? [missing.length + next.length === 0 ? "- nothing breaks" : "- nothing breaks in what was run"]
      : ["- what breaks above: docs/upgrading-a-cli.md says how each kind is fixed"]),
    ...decisions(trial, pin, measured),
  ];
  return { text: `${lines.join("\n")}\n`, isBroken: broken.length > 0 };
}

function describeStep({ name, exitCode, output }: StepResult, trial: TriedVersion): string[] {
  const text = stripVTControlCharacters(output);
  const title = (verdict: string): string => `${name}: ${verdict} (${trial.directory}/${name}.txt)`;
  const found = FINDS[name](text).map((line) => `  ${line.trimEnd()}`);
  if (exitCode === 0) return [title("nothing breaks"), ...found, ""];
  // A step that failed without a finding did not run to its end: its last lines say why.
  if (found.length === 0) return [title(`did not run to its end (exit code ${exitCode})`), ...lastLines(text), ""];
  return [title(`exit code ${exitCode}`), ...found, ...REMEDIES[name](trial).map((line) => `      ${line}`), ""];
}

function lastLines(text: string): string[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-LAST_LINES).map((line) => `  ${line.trimEnd()}`);
}

function decisions({ cli, version }: TriedVersion, pin: Pin, [oldest, newest]: readonly [string, string]): string[] {
  const { executor } = cli;
  if (pin === "default") return ["- nothing to pin: the image and `npm start` take it by default"];
  if (pin === "none") return [`- whether to pin it: npm run upgrade-cli -- ${executor} ${version}`];
  const isNewer = compareVersions(version, newest) > 0;
  const isOlder = compareVersions(version, oldest) < 0;
  const range = isNewer ? `${oldest} to ${version}` : `${version} to ${newest}`;
  return [
    `- which recordings become fixtures: fixtures/${executor}/${version}/<behaviour>, each with its expected.json`,
    `- what docs/contracts/${executor}.md says of ${version}`,
    "- whether it stays pinned: commit sandbox/versions, or `git checkout sandbox/versions` takes it out",
    ...(isNewer || isOlder
      ? [`- measuredVersions in src/turnd/daemon/executors/${executor}/adapter.ts: ${range}, once the above is done`]
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
