import { expect, test } from "vitest";
import { readWanted, type WantedOptions } from "../../../../src/turnd/commands/client/read-wanted.ts";

/** A list of so many numbers. */
async function* count(most: number): AsyncGenerator<number> {
  for (let at = 0; at < most; at += 1) yield at;
}

test.each<[WantedOptions, number]>([
  [{ limit: 5 }, 5],
  [{ limit: 2_500 }, 2_500],
  [{ limit: 9_999 }, 3_456],
  [{ limit: 1, all: true }, 3_456],
])("with %o as many are taken as are wanted and there", async (options, expected) => {
  const sizes: number[] = [];
  const found = await readWanted(options, (size) => {
    sizes.push(size);
    return count(3_456);
  });
  expect(found).toEqual(Array.from({ length: expected }, (_, at) => at));
  expect(sizes).toEqual([Math.min(1_000, options.all === true ? 1_000 : options.limit)]);
});
