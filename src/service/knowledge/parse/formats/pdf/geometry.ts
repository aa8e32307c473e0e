/** A run of text on a page; y is the baseline, downwards; in points. */
export interface TextItem {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly size: number;
  readonly font: string;
}

/** A line, or the part of one that is in a column. */
export interface Row {
  /** From left to right. */
  readonly items: readonly TextItem[];
  readonly x: number;
  readonly right: number;
  readonly y: number;
  /** The size of most of its characters. */
  readonly size: number;
}

/** Part of a row between wide gaps. */
export interface Cell {
  readonly text: string;
  readonly x: number;
  readonly right: number;
}

const WIDE = /[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]/;
/** A gap from here on is a blank, in parts of the size; and from there on it separates cells. */
const BLANK_GAP = 0.18;
const CELL_GAP = 1.1;

/** Puts items that stand on one baseline together, from the top down. */
export function toRows(items: readonly TextItem[]): Row[] {
  const rows: TextItem[][] = [];
  let baseline = Number.NaN;
  for (const item of items.toSorted((one, two) => one.y - two.y || one.x - two.x)) {
    const row = rows.at(-1);
    // Raised and lowered signs belong to the line that they stand in.
    if (row !== undefined && Math.abs(item.y - baseline) <= Math.max(item.size, row[0]?.size ?? 0) * 0.4)
      row.push(item);
    else {
      rows.push([item]);
      baseline = item.y;
    }
  }
  return rows.map(toRow);
}

function toRow(unsorted: readonly TextItem[]): Row {
  const items = unsorted.toSorted((one, two) => one.x - two.x);
  const main = items.reduce((best, item) => (item.text.length > best.text.length ? item : best));
  const right = items.reduce((edge, item) => Math.max(edge, item.x + item.width), -Infinity);
  return { items, x: items[0]?.x ?? 0, right, y: main.y, size: main.size };
}

/** The cells of a row: one, unless there are gaps that are wider than those between words. */
export function cellsOf(row: Row): Cell[] {
  const cells: { text: string; x: number; right: number }[] = [];
  for (const item of row.items) {
    const cell = cells.at(-1);
    const gap = cell === undefined ? 0 : item.x - cell.right;
    if (cell === undefined || gap > row.size * CELL_GAP) {
      cells.push({ text: item.text.trim(), x: item.x, right: item.x + item.width });
      continue;
    }
    cell.text = joinWords(cell.text, item.text, gap > row.size * BLANK_GAP);
    cell.right = Math.max(cell.right, item.x + item.width);
  }
  return cells;
}

/** The text of a row. */
export function textOfRow(row: Row): string {
  return cellsOf(row)
    .map(({ text }) => text)
    .join(" ")
    .trim();
}

/** Two lines of a paragraph as one; a hyphen at the end of the first is taken for one of division. */
export function joinLines(first: string, second: string): string {
  if (first.endsWith("\u00ad")) return first.slice(0, -1) + second;
  if (/\p{L}[-\u2010]$/u.test(first) && /^\p{Ll}/u.test(second)) return first.slice(0, -1) + second;
  return joinWords(first, second, true);
}

function joinWords(first: string, second: string, isApart: boolean): string {
  const isWide = WIDE.test(first.at(-1) ?? "") && WIDE.test(second.charAt(0));
  const isBlank = isApart && !isWide && !/\s$/.test(first) && !/^\s/.test(second);
  return `${first}${isBlank ? " " : ""}${second}`;
}

/** The middle of some numbers; 0 of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, two) => one - two);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
