import { blocksOf, linesOf, type Block, type Lines } from "./blocks.ts";
import { cutBlock, endOf, estimateRange, estimateTokens, type Sizes } from "./cut-block.ts";
import { createHeadingPath, sharedPath } from "./heading-path.ts";
import { tokenize } from "./tokens.ts";

/** How a knowledge base cuts, in estimated tokens. */
export interface Chunking {
  /** 100 to 2 000. */
  readonly targetTokens: number;
  /** At least the target. */
  readonly maxTokens: number;
  /** Repeated inside a paragraph that is cut; less than half of the target. */
  readonly overlapTokens: number;
}

export const DEFAULT_CHUNKING: Chunking = { targetTokens: 400, maxTokens: 512, overlapTokens: 50 };

/** A passage that is searched and answered. */
export interface Chunk {
  /** `markdown.slice(startChar, endChar)`; a later part of a table has the table's header rows before it. */
  readonly content: string;
  /** The headings above it, `A > B > C`; what all of its passages share; empty before the first heading. */
  readonly heading: string;
  /** First and last line of the Markdown, counted from 1. */
  readonly startLine: number;
  readonly endLine: number;
  /** Offsets in UTF-16 units, the end excluded. */
  readonly startChar: number;
  readonly endChar: number;
  /** The page on which it begins, or null where there are no pages. */
  readonly page: number | null;
  /** The tokens of heading and content, joined by blanks. May be empty (`---`). */
  readonly tokens: string;
  /** How many tokens that are: the length for BM25. */
  readonly tokenCount: number;
  /** What a model would count for `content`, estimated; at most `maxTokens`. */
  readonly estimatedTokens: number;
}

/** Longest path of headings, in characters. */
const HEADING_LENGTH = 500;
const PAGE_MARK = /^<!-- page \d{1,9} -->$/gm;

/** A part of a block, or a whole one, with where it stands. */
interface Passage {
  readonly block: Block;
  readonly start: number;
  readonly end: number;
  readonly prefix: string;
  readonly tokens: number;
  /** The size of the blank lines in front of it. */
  readonly before: number;
  readonly path: readonly string[];
  readonly page: number | null;
}

/**
 * Cuts Markdown into chunks with their tokens.
 *
 * Every line that is not blank is in a chunk. No chunk is larger than the maximum. A heading or page mark never ends a
 * chunk unless nothing follows; a chunk goes on over a heading only while it is smaller than a quarter of the target.
 *
 * Pure, lazy, in order: the same for the same text.
 */
export function* chunkMarkdown(markdown: string, chunking: Chunking): Generator<Chunk> {
  const lines = linesOf(markdown);
  const sizes = { target: chunking.targetTokens, max: chunking.maxTokens, overlap: chunking.overlapTokens };
  let waiting: Passage[] = [];
  for (const passage of passagesOf(lines, sizes)) {
    if (waiting.length > 0 && !fits(waiting, passage, sizes)) {
      const kept = withoutTrailingMarks(waiting);
      yield toChunk(lines, kept);
      waiting = waiting.slice(kept.length);
      // Marks that wait may themselves fill a chunk.
      if (waiting.length > 0 && sizeWith(waiting, passage) > sizes.max) {
        yield toChunk(lines, waiting);
        waiting = [];
      }
    }
    waiting.push(passage);
  }
  if (waiting.length > 0) yield toChunk(lines, waiting);
}

/** Whether the next passage goes into the chunk that is being made. */
function fits(waiting: readonly Passage[], next: Passage, { target, max }: Sizes): boolean {
  const size = sizeWith(waiting, next);
  if (!waiting.some(isBody)) return size <= max;
  if (next.prefix !== "" || size > max) return false;
  const own = sizeOf(waiting);
  if (next.block.kind === "heading") return own < target / 4;
  return own < target / 2 || size <= target;
}

function withoutTrailingMarks(waiting: readonly Passage[]): readonly Passage[] {
  const last = waiting.findLastIndex(isBody);
  return last === -1 ? waiting : waiting.slice(0, last + 1);
}

function isBody({ block }: Passage): boolean {
  return block.kind !== "heading" && block.kind !== "page";
}

/** The size of what the passages become: with the blank lines between them. */
function sizeOf(passages: readonly Passage[]): number {
  return passages.reduce((sum, { tokens, before }, index) => sum + tokens + (index === 0 ? 0 : before), 0);
}

function sizeWith(waiting: readonly Passage[], next: Passage): number {
  return sizeOf(waiting) + next.before + next.tokens;
}

function* passagesOf(lines: Lines, sizes: Sizes): Generator<Passage> {
  const headings = createHeadingPath();
  let page: number | null = null;
  let endOfLast = 0;
  for (const block of blocksOf(lines)) {
    if (block.kind === "page") page = block.level;
    if (block.kind === "heading") headings.enter(block.level, lines.line(block.first));
    const path = headings.current();
    const start = lines.start(block.first);
    const end = endOf(lines, block.last);
    const before = estimateRange(lines.text, endOfLast, start);
    endOfLast = end;
    const tokens = estimateRange(lines.text, start, end);
    if (tokens <= sizes.max) yield { block, start, end, prefix: "", tokens, before, path, page };
    else {
      let gap = before;
      let endOfPiece = end;
      // A line of a fence or table may be blank by itself, such as one ideographic space.
      const pieces = cutBlock(lines, block, sizes).filter(
        (piece) => lines.text.slice(piece.start, piece.end).trim() !== "",
      );
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) gap = estimateRange(lines.text, endOfPiece, piece.start);
        endOfPiece = piece.end;
        const cost = estimateTokens(piece.prefix) + estimateRange(lines.text, piece.start, piece.end);
        yield { block, ...piece, tokens: cost, before: gap, path, page };
      }
    }
  }
}

function toChunk(lines: Lines, passages: readonly Passage[]): Chunk {
  const first = passages[0];
  const last = passages.at(-1);
  if (first === undefined || last === undefined) throw new Error("a chunk of nothing");
  const bodies = passages.filter(isBody);
  const heading = sharedPath((bodies.length > 0 ? bodies : passages).map(({ path }) => path)).slice(0, HEADING_LENGTH);
  const content = first.prefix + lines.text.slice(first.start, last.end);
  const tokens = tokenize(`${heading}\n${content.replace(PAGE_MARK, "")}`);
  const startLine = lineAt(lines, first.block, first.start);
  return {
    content,
    heading: heading.toWellFormed(),
    startLine,
    endLine: lineAt(lines, last.block, Math.max(last.end - 1, last.start)),
    startChar: first.start,
    endChar: last.end,
    page: first.page,
    tokens: tokens.join(" "),
    tokenCount: tokens.length,
    estimatedTokens: Math.ceil(estimateTokens(content)),
  };
}

/** The line, from 1, of an offset in a block. */
function lineAt(lines: Lines, block: Block, offset: number): number {
  let low = block.first;
  let high = block.last;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (lines.start(middle) <= offset) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}
