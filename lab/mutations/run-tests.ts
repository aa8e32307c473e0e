import { execa } from "execa";
import { readFileSync } from "node:fs";
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

/** Runs tests in a copy of the tree, one after the other. @param wanted - a file, or `file > part of a title` */
export async function runTests({ tree, temporary, tidy }: TreeCopy, wanted: string): Promise<TestRun> {
  const [file = "", title] = wanted.split(" > ");
  const report = join(temporary, "report.json");
  const only = title === undefined ? [] : ["-t", escape(title)];
  const { all } = await execa(
    join(tree, "node_modules/.bin/vitest"),
    ["run", "--maxWorkers=1", "--bail=1", "--reporter=json", `--outputFile=${report}`, ...only, file],
    { cwd: tree, env: { TMPDIR: temporary }, reject: false, all: true, timeout: LIMIT_MS },
  );
  let results;
  try {
    results = Report.parse(JSON.parse(readFileSync(report, "utf8"))).testResults;
  } catch (cause) {
    throw new Error(`the tests left no report: ${all}`, { cause });
  }
  tidy();
  const ran = results.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status }) => ({ status, test: `${relative(tree, name)} > ${fullName}` })),
  );
  return {
    passed: ran.filter(({ status }) => status === "passed").length,
    failed: ran.filter(({ status }) => status === "failed").map((one) => one.test),
  };
}

/** A title as a pattern that finds it. */
function escape(title: string): string {
  return title.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
