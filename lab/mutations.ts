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
const caughtBy = new Set<string>();
const survived: string[] = [];
for (const mutation of wanted) {
  const failed = await findFailing(copy, mutation);
  if (failed === undefined) survived.push(mutation.id);
  else caughtBy.add(failed.test);
  const { id, room, says } = mutation;
  console.log([failed === undefined ? "SURVIVED" : "caught", room, id, failed?.title ?? says].join("\t"));
}
const broken: string[] = [];
for (const test of caughtBy) {
  const { passed, failed } = await runTests(copy, test);
  if (passed === 0 || failed.length > 0) broken.push(failed[0] ?? `${test}: no test`);
}
console.log(`${wanted.length - survived.length} of ${wanted.length} caught`);
for (const test of broken) console.log(`fails without a fault too: ${test}`);
process.exitCode = survived.length + broken.length === 0 ? 0 : 1;

/** The first test that notices a fault. */
async function findFailing(
  copied: TreeCopy,
  mutation: Mutation,
): Promise<{ readonly test: string; readonly title: string } | undefined> {
  const restore = copied.apply(mutation);
  try {
    for (const test of mutation.caughtBy) {
      const [title] = (await runTests(copied, test)).failed;
      if (title !== undefined) return { test, title };
    }
    return undefined;
  } finally {
    restore();
  }
}

function noProgram(): never {
  throw new Error(`no such program; there are ${Object.keys(PROGRAMS).join(" ")}`);
}
