import { expect, test } from "vitest";
import { readPages } from "../../src/client-commands/read-pages.ts";

/** A list of so many numbers, whose pages have at most `most`. */
function listOf(count: number, most: number) {
  const asked: number[] = [];
  const read = async ({ limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined }) => {
    asked.push(limit);
    const from = Number(cursor ?? 0);
    const items = Array.from({ length: Math.min(limit, most, count - from) }, (_, at) => from + at);
    const next = from + items.length;
    return { items, next: next < count ? String(next) : undefined };
  };
  return { asked, read };
}

test.each([
  [{ limit: 5 }, 5],
  [{ limit: 2_500 }, 2_500],
  [{ limit: 9_999 }, 3_456],
  [{ limit: 1, all: true as const }, 3_456],
])("with %o as many are read as are wanted and there", async (options, expected) => {
  const { asked, read } = listOf(3_456, 1_000);
  const found = await readPages(options, read);
  expect(found).toEqual(Array.from({ length: expected }, (_, at) => at));
  expect(Math.max(...asked)).toBeLessThanOrEqual(1_000);
});
