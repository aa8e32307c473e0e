import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { CliBCase } from "./matrix/cli-b/case.ts";
import { exitCodeOf } from "./matrix/await-exit.ts";
import { compareScenes } from "./matrix/compare.ts";
import { FAILURE_CASES, START_CASES } from "./matrix/cli-b/failure-cases.ts";
import { ODD_ANSWERS } from "./matrix/cli-b/odd-answers.ts";
import { OTHER_CASES } from "./matrix/cli-b/other-cases.ts";
import { recordCase } from "./matrix/cli-b/record.ts";
import { describeProgress } from "./matrix/time-left.ts";
import { SESSION_CASES } from "./matrix/cli-b/session-cases.ts";
import { TOOL_CASES } from "./matrix/cli-b/tool-cases.ts";
import { UNSEEN_CASES } from "./matrix/cli-b/unseen-cases.ts";
import { FIFTH_CASES } from "./matrix/cli-b/unseen-fifth.ts";
import { NINTH_CASES } from "./matrix/cli-b/unseen-ninth.ts";
import { SEVENTH_CASES } from "./matrix/cli-b/unseen-seventh.ts";
import { SIXTH_CASES } from "./matrix/cli-b/unseen-sixth.ts";
import { TENTH_CASES } from "./matrix/cli-b/unseen-tenth.ts";

const USAGE = "usage: node lab/matrix-cli-b.ts --version <x.y.z> --binary <path> <directory> [case…]";
const CASES: readonly CliBCase[] = [
  ...TOOL_CASES,
  ...SESSION_CASES,
  ...FAILURE_CASES,
  ...START_CASES,
  ...ODD_ANSWERS,
  ...OTHER_CASES,
  ...UNSEEN_CASES,
  ...FIFTH_CASES,
  ...SIXTH_CASES,
  ...SEVENTH_CASES,
  ...NINTH_CASES,
  ...TENTH_CASES,
];

/**
 * Plays every scenario of CLI B to one binary, leaves labelled recordings, a fixture's files but `events.jsonl`, and says
 * which of them turnd reads otherwise than their labels. Exit code 1 where there is one.
 *
 * Needs root, since the CLI runs as uid 1000 and two cases mount a full disk. A recording that is there stays.
 */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { version: { type: "string" }, binary: { type: "string" } },
  });
  const { version, binary } = values;
  const [directory, ...named] = positionals;
  if (version === undefined || binary === undefined || directory === undefined) {
    console.error(USAGE);
    process.exitCode = 2;
    return;
  }
  const chosen = CASES.filter(
    ({ name }) =>
      named.length === 0 || named.some((word) => word === name || (word.endsWith("-") && name.startsWith(word))),
  );
  const root = join(directory, "cli-b", version);
  const missing = chosen.filter(({ name }) => !existsSync(join(root, name, "expected.json")));
  const startedAt = performance.now();
  for (const [index, entry] of missing.entries()) {
    const target = join(root, entry.name);
    console.error(`${describeProgress(index + 1, missing.length, startedAt, performance.now())}: ${entry.name}`);
    await recordCase({ version, binary: resolve(binary) }, entry, target);
  }
  const wrong = await compareScenes(root, chosen);
  for (const line of wrong) console.log(`! ${line}`);
  console.log(`${chosen.length} scenes below ${root}, ${wrong.length} not as their labels say`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

try {
  await main();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}
