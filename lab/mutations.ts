import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Mutation } from "./mutations/mutation.ts";
import { runTests } from "./mutations/run-tests.ts";
import { SERVICE_MUTATIONS } from "./mutations/service.ts";
import { copyTree, type TreeCopy } from "./mutations/tree-copy.ts";
import { TURND_MUTATIONS } from "./mutations/turnd.ts";

/** Puts each fault into a copy of the tree and says whether its tests notice it. */
const PROGRAMS: Readonly<Record<string, readonly Mutation[]>> = {
  turnd: TURND_MUTATIONS,
  service: SERVICE_MUTATIONS,
};

const { values } = parseArgs({
  options: { only: { type: "string", multiple: true }, program: { type: "string" } },
});
const listed =
  values.program === undefined ? Object.values(PROGRAMS).flat() : (PROGRAMS[values.program] ?? noProgram());
const wanted = listed.filter(({ id }) => values.only?.includes(id) ?? true);
if (wanted.length === 0) throw new Error("no such mutation");

const copy = copyTree(join(import.meta.dirname, ".."));
process.once("exit", () => copy.remove());
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const survived: string[] = [];
const untouched = await runTests(copy, [...new Set(wanted.flatMap(({ caughtBy }) => caughtBy))]);
console.log(`without a fault: ${untouched.passed} tests pass, ${untouched.failed.length} fail`);
for (const test of untouched.failed) console.log(`  fails without a fault: ${test}`);
for (const mutation of wanted) {
  const failed = (await mutate(copy, mutation)).filter((test) => !untouched.failed.includes(test));
  if (failed.length === 0) survived.push(mutation.id);
  console.log(
    [failed.length === 0 ? "SURVIVED" : "caught", mutation.room, mutation.id, failed[0] ?? mutation.says].join("\t"),
  );
}
console.log(`${wanted.length - survived.length} of ${wanted.length} caught`);
process.exitCode = survived.length === 0 && untouched.failed.length === 0 ? 0 : 1;

async function mutate(copied: TreeCopy, mutation: Mutation): Promise<readonly string[]> {
  copied.apply(mutation);
  try {
    return (await runTests(copied, mutation.caughtBy)).failed;
  } finally {
    copied.restore(mutation);
  }
}

function noProgram(): never {
  throw new Error(`no such program; there are ${Object.keys(PROGRAMS).join(" ")}`);
}
