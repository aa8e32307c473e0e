import { execa } from "execa";
import { readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { z } from "zod";
import type { TreeCopy } from "./tree-copy.ts";

/** A test run that has not ended by then is ended: a fault may make it hang. */
const LIMIT_MS = 20 * 60_000;

const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
});

/** How the tests went. */
export interface TestRun {
  readonly passed: number;
  /** `file > title`. */
  readonly failed: readonly string[];
}

/** Runs tests, each a file or `file > part of a title`, one after the other, in a copy of the tree. */
export async function runTests(copy: TreeCopy, tests: readonly string[]): Promise<TestRun> {
  const wanted = tests.map((test) => {
    const [file = "", title] = test.split(" > ");
    return { file, title };
  });
  const whole = new Set(wanted.filter(({ title }) => title === undefined).map(({ file }) => file));
  const titled = wanted.filter(({ file }) => !whole.has(file));
  const runs = [
    await runFiles(copy, [...whole], undefined),
    await runFiles(
      copy,
      [...new Set(titled.map(({ file }) => file))],
      titled.map(({ title = "" }) => title),
    ),
  ];
  return {
    passed: runs.reduce((sum, run) => sum + run.passed, 0),
    failed: runs.flatMap((run) => run.failed),
  };
}

async function runFiles(
  { tree, temporary }: TreeCopy,
  files: readonly string[],
  titles: readonly string[] | undefined,
): Promise<TestRun> {
  if (files.length === 0) return { passed: 0, failed: [] };
  const report = join(temporary, "report.json");
  const only = titles === undefined ? [] : ["-t", titles.map((title) => escape(title)).join("|")];
  const { all } = await execa(
    join(tree, "node_modules/.bin/vitest"),
    ["run", "--maxWorkers=1", "--reporter=json", `--outputFile=${report}`, ...only, ...files],
    { cwd: tree, env: { TMPDIR: temporary }, reject: false, all: true, timeout: LIMIT_MS },
  );
  let results;
  try {
    results = Report.parse(JSON.parse(readFileSync(report, "utf8"))).testResults;
  } catch (cause) {
    throw new Error(`the tests left no report: ${all}`, { cause });
  }
  rmSync(report);
  const ran = results.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status }) => ({ status, title: `${relative(tree, name)} > ${fullName}` })),
  );
  return {
    passed: ran.filter(({ status }) => status === "passed").length,
    failed: ran.filter(({ status }) => status === "failed").map(({ title }) => title),
  };
}

/** A title as a pattern that finds it. */
function escape(title: string): string {
  return title.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
