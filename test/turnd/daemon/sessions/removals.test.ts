import { expect, test } from "vitest";
import { createRemovals } from "../../../../src/turnd/daemon/storage/removals.ts";
import { waitFor } from "../../../harness/wait-for.ts";

/** A disk on which some directories cannot be removed for a number of times. */
function createDisk(failures: Readonly<Record<string, number>>) {
  const left = new Map(Object.entries(failures));
  const gone: string[] = [];
  const reported: string[] = [];
  const removals = createRemovals({
    async removeTree(path) {
      const count = left.get(path) ?? 0;
      left.set(path, count - 1);
      if (count > 0) throw new Error("it is being filled");
      gone.push(path);
    },
    onLeft: (path) => reported.push(path),
    retryMs: 1,
  });
  return { removals, gone, reported };
}

test("what cannot be removed now is reported once and tried again until it is gone", async () => {
  const { removals, gone, reported } = createDisk({ a: 5 });
  await removals.remove("a");
  expect([gone, reported]).toEqual([[], ["a"]]);
  await waitFor("the removal", () => gone.length === 1);
  expect(reported).toEqual(["a"]);
  await removals.close();
});

test("what an earlier turnd has left is removed without a caller, the others not kept by one that stays", async () => {
  const { removals, gone } = createDisk({ a: Infinity });
  for (const path of ["a", "b", "c"]) removals.resume(path);
  await waitFor("the removals", () => gone.length === 2);
  expect(gone).toEqual(["b", "c"]);
  await removals.close();
});

test("closing ends a removal that is under way and reports nothing", async () => {
  const reported: string[] = [];
  const removals = createRemovals({
    removeTree: (_path, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
    onLeft: (path) => reported.push(path),
  });
  const removing = removals.remove("a");
  await removals.close();
  await removing;
  expect(reported).toEqual([]);
});
