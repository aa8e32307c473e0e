import { toRegions } from "./columns.ts";
import { joinLines, median, textOfRow, type Row, type TextItem } from "./geometry.ts";
import { groupTables } from "./tables.ts";

/** What a page is made of, in reading order. */
export type PageBlock =
  | { readonly kind: "table"; readonly rows: readonly (readonly string[])[] }
  | {
      readonly kind: "text";
      readonly text: string;
      readonly x: number;
      readonly size: number;
      /** The font of all of it, or nothing when there are several. */
      readonly font: string | undefined;
      readonly lines: number;
      /** A sign at its beginning, which is not in the text. */
      readonly bullet: boolean;
    };

type TextBlock = Extract<PageBlock, { kind: "text" }>;

const BULLET = /^[•◦▪▫■□●○‣⁃·\uf0b7\uf0a7]\s*/u;
const DASH_BULLET = /^[–—-]\s+(?=\S)/u;
const NUMBER = /^\(?(\d{1,3}|[a-zA-Z])[.)]\s/;
/** A paragraph ends where the next line is farther away than usual by this factor. */
const PARAGRAPH_GAP = 1.2;
const SHORT = 0.55;

/** The blocks of a page. */
export function toBlocks(items: readonly TextItem[]): PageBlock[] {
  const blocks = toRegions(items).flatMap((rows) =>
    groupTables(rows).flatMap((group): PageBlock[] =>
      group.kind === "table" ? [{ kind: "table", rows: group.rows }] : toParagraphs(group.rows, rows),
    ),
  );
  return joinBroken(blocks);
}

/** A paragraph goes on in the next column, or after a line that looked like its last. */
function joinBroken(blocks: readonly PageBlock[]): PageBlock[] {
  const joined: PageBlock[] = [];
  for (const block of blocks) {
    const last = joined.at(-1);
    if (last?.kind === "text" && block.kind === "text" && goesOn(last, block)) {
      joined[joined.length - 1] = { ...last, text: joinLines(last.text, block.text), lines: last.lines + block.lines };
    } else joined.push(block);
  }
  return joined;
}

function goesOn(first: TextBlock, second: TextBlock): boolean {
  if (second.bullet || Math.abs(first.size - second.size) > first.size * 0.05) return false;
  if (first.font !== undefined && second.font !== undefined && first.font !== second.font) return false;
  return first.text.length > 30 && /[\p{L}\p{N},\-\u2010\u00ad]$/u.test(first.text) && /^\p{Ll}/u.test(second.text);
}

function toParagraphs(rows: readonly Row[], region: readonly Row[]): PageBlock[] {
  const left = Math.min(...region.map(({ x }) => x));
  const right = Math.max(...region.map((row) => row.right));
  const gap = usualGap(region);
  const paragraphs: Row[][] = [];
  for (const [index, row] of rows.entries()) {
    const before = rows[index - 1];
    const open = paragraphs.at(-1);
    if (before === undefined || open === undefined || isNew(row, before, { left, right, gap })) paragraphs.push([row]);
    else open.push(row);
  }
  return paragraphs.map(toText);
}

/** The distance of lines in the region, of those that are about as far apart as lines of one paragraph are. */
function usualGap(rows: readonly Row[]): number {
  const gaps = rows.flatMap((row, index) => {
    const before = rows[index - 1];
    const gap = before === undefined ? 0 : row.y - before.y;
    return gap > row.size * 0.8 && gap < row.size * 2.2 ? [gap / row.size] : [];
  });
  // The lower quarter: where paragraphs are short, most distances are those between them.
  return gaps.toSorted((one, two) => one - two)[Math.floor(gaps.length / 4)] ?? 1.3;
}

function isNew(row: Row, before: Row, { left, right, gap }: { left: number; right: number; gap: number }): boolean {
  const distance = row.y - before.y;
  if (distance <= 0 || Math.abs(row.size - before.size) > before.size * 0.12) return true;
  if (distance > row.size * gap * PARAGRAPH_GAP) return true;
  const text = textOfRow(row);
  if (BULLET.test(text) || DASH_BULLET.test(text) || NUMBER.test(text)) return true;
  if (fontOf([row]) !== undefined && fontOf([before]) !== undefined && fontOf([row]) !== fontOf([before])) {
    // A line all in another font is a heading, or ends one.
    return before.right < right - row.size * 3 || row.right < right - row.size * 3;
  }
  // A line that ends in the first part of the width did not end for lack of room.
  if (before.right < left + (right - left) * SHORT) return true;
  if (Math.abs(row.x - before.x) > row.size * 0.8 && before.right < right - (right - left) * 0.15) return true;
  const isIndented = row.x - left > row.size * 0.8 && before.x - left <= row.size * 0.3;
  const wasShort = before.right < right - (right - left) * 0.15 && /[.!?:。！？]["”’)]?$/.test(textOfRow(before));
  return isIndented || (wasShort && Math.abs(row.x - left) < row.size * 2);
}

function toText(rows: readonly Row[]): PageBlock {
  const whole = rows.map(textOfRow).reduce(joinLines);
  const bullet = BULLET.test(whole) || DASH_BULLET.test(whole);
  return {
    kind: "text",
    text: whole.replace(BULLET, "").replace(DASH_BULLET, "").trim(),
    x: Math.min(...rows.map(({ x }) => x)),
    size: median(rows.map(({ size }) => size)),
    font: fontOf(rows),
    lines: rows.length,
    bullet,
  };
}

function fontOf(rows: readonly Row[]): string | undefined {
  const fonts = new Set(rows.flatMap(({ items }) => items.map(({ font }) => font)));
  return fonts.size === 1 ? [...fonts][0] : undefined;
}
