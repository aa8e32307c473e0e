import type { PageBlock } from "./blocks.ts";

/** A line of the document's own outline. */
export interface OutlineEntry {
  readonly title: string;
  /** From 1. */
  readonly level: number;
}

type TextBlock = Extract<PageBlock, { kind: "text" }>;

const SIZE_FACTOR = 1.15;
const MAX_LENGTH = 200;
const MAX_BOLD_LENGTH = 100;
const MAX_LINES = 3;

/**
 * Distinguishes headings from text: by the outline, otherwise by size, otherwise by a bold line that stands alone.
 *
 * @param isBold - of a font by its name
 * @returns the level of a block, or 0
 */
export function createHeadingFinder(
  pages: readonly (readonly PageBlock[])[],
  outline: readonly OutlineEntry[],
  isBold: (font: string) => boolean,
): (block: TextBlock) => number {
  const texts = pages.flat().filter((block): block is TextBlock => block.kind === "text");
  const body = bodyOf(texts);
  const levels = new Map(outline.map(({ title, level }) => [alike(title), level]));
  const outlined = new Map<number, number>();
  for (const block of texts) {
    const level = levels.get(alike(block.text));
    if (level !== undefined) outlined.set(block.size, Math.min(level, outlined.get(block.size) ?? 6));
  }
  const sizes = [...new Set(texts.filter((block) => isLarge(block, body.size)).map(({ size }) => size))].toSorted(
    (one, two) => two - one,
  );

  function sizeLevel(size: number): number {
    const known = outlined.get(size);
    if (known !== undefined) return known;
    if (outlined.size > 0) {
      // Larger than what the outline names: a title above it.
      const above = [...outlined].filter(([other]) => other > size).map(([, level]) => level);
      return above.length === 0 ? 1 : Math.min(Math.max(...above) + 1, 6);
    }
    return Math.min(sizes.indexOf(size) + 1, 6);
  }

  return (block) => {
    if (block.bullet || block.lines > MAX_LINES || block.text.length > MAX_LENGTH) return 0;
    const level = levels.get(alike(block.text));
    if (level !== undefined) return Math.min(level, 6);
    if (isLarge(block, body.size)) return sizeLevel(block.size);
    return isBoldHeading(block, body, isBold) ? Math.min(sizes.length + 1, 6) : 0;
  };
}

function isLarge(block: TextBlock, body: number): boolean {
  return (
    block.size >= body * SIZE_FACTOR &&
    block.text.length <= MAX_LENGTH &&
    block.lines <= MAX_LINES &&
    /[\p{L}\p{N}]/u.test(block.text)
  );
}

function isBoldHeading(
  block: TextBlock,
  body: { size: number; font: string },
  isBold: (font: string) => boolean,
): boolean {
  if (block.font === undefined || block.font === body.font || !isBold(block.font) || isBold(body.font)) return false;
  if (block.lines > 1 || block.text.length > MAX_BOLD_LENGTH || block.size < body.size * 0.95) return false;
  return /^[\p{Lu}\p{Lo}\p{N}]/u.test(block.text) && !/[.,;:]$/.test(block.text);
}

/** The size and font in which most is written. */
function bodyOf(texts: readonly TextBlock[]): { size: number; font: string } {
  const sizes = new Map<number, number>();
  const fonts = new Map<string, number>();
  for (const { size, font = "", text } of texts) {
    sizes.set(size, (sizes.get(size) ?? 0) + text.length);
    fonts.set(font, (fonts.get(font) ?? 0) + text.length);
  }
  return { size: most(sizes) ?? 10, font: most(fonts) ?? "" };
}

function most<Key>(counts: ReadonlyMap<Key, number>): Key | undefined {
  let best: Key | undefined;
  for (const [key, count] of counts) if (best === undefined || count > (counts.get(best) ?? 0)) best = key;
  return best;
}

/** Titles are written with other blanks and numbers in an outline. */
function alike(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/^[\d.\s]+/, "")
    .replace(/[^\p{L}\p{N}]+/gu, "");
}
