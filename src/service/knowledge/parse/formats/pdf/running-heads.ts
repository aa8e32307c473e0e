import { textOfRow, toRows, type TextItem } from "./geometry.ts";

/** Rows at the top and at the bottom that are looked at. */
const ROWS = 3;
/** Part of the page's height, at the top and at the bottom, in which they stand. */
const MARGIN = 0.14;
const SHARE = 0.4;

/** A page before it is laid out. */
export interface PageItems {
  readonly items: readonly TextItem[];
  readonly height: number;
}

/** Removes what stands at the top or bottom of page after page, whatever number it has. */
export function withoutRunningHeads(pages: readonly PageItems[]): PageItems[] {
  if (pages.length < 2) return [...pages];
  const counts = new Map<string, number>();
  const outer = pages.map((page) => outerRows(page));
  for (const rows of outer) for (const key of new Set(rows.keys())) counts.set(key, (counts.get(key) ?? 0) + 1);
  const enough = Math.max(2, pages.length * SHARE);
  return pages.map((page, index) => {
    const dropped = new Set(
      [...(outer[index] ?? [])].flatMap(([key, items]) => ((counts.get(key) ?? 0) >= enough ? items : [])),
    );
    return dropped.size === 0 ? page : { ...page, items: page.items.filter((item) => !dropped.has(item)) };
  });
}

/** The outermost rows, by their text with numbers made alike. */
function outerRows({ items, height }: PageItems): Map<string, readonly TextItem[]> {
  const rows = toRows(items);
  const found = new Map<string, readonly TextItem[]>();
  for (const [name, some] of [
    ["top", rows.slice(0, ROWS)],
    ["bottom", rows.slice(-ROWS)],
  ] as const) {
    for (const row of some) {
      const isOuter = name === "top" ? row.y < height * MARGIN : row.y > height * (1 - MARGIN);
      if (isOuter) found.set(`${name} ${textOfRow(row).replace(/\d+/g, "#")}`, row.items);
    }
  }
  return found;
}
