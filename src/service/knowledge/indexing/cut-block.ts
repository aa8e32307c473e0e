import type { Block, Lines } from "./blocks.ts";

/** A piece of a text by offsets in UTF-16 units, and what is repeated in front of it. */
export interface Piece {
  readonly start: number;
  readonly end: number;
  readonly prefix: string;
}

/** Sizes in estimated tokens. */
export interface Sizes {
  readonly target: number;
  readonly max: number;
  readonly overlap: number;
}

const WIDE = /[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef]/;
/** After these a sentence may end; wide ones need no blank after them. */
const SENTENCE_END = /[.!?…。！？；](?:["'”’)\]]*)(?=\s)|[。！？；]["'”’）】]*|\n/g;

/** The tokens that a model would count, estimated: a quarter of a character, for Han, kana and Hangul two thirds. */
export function estimateTokens(text: string): number {
  return estimateRange(text, 0, text.length);
}

/** The same for a part of a text. */
export function estimateRange(text: string, start: number, end: number): number {
  let tokens = 0;
  for (let at = start; at < end; at += 1) tokens += weightAt(text, at);
  return tokens;
}

/** Cuts a block that is too large: a table between rows, a fence between lines, anything else between sentences. */
export function cutBlock(lines: Lines, block: Block, sizes: Sizes): Piece[] {
  if (block.kind === "table") return cutTable(lines, block, sizes);
  const start = lines.start(block.first);
  const end = endOf(lines, block.last);
  if (block.kind === "fence") return packLines(lines, block.first, block.last, sizes, "");
  return cutSentences(lines.text, start, end, sizes, sizes.overlap);
}

/** Offset of the end of a line, without its `\n`. */
export function endOf(lines: Lines, line: number): number {
  return lines.start(line) + lines.line(line).length;
}

function cutTable(lines: Lines, block: Block, sizes: Sizes): Piece[] {
  const header = lines.text.slice(lines.start(block.first), lines.start(block.first + 2));
  const cost = estimateTokens(header);
  // A header that fills half of a chunk would leave no room for rows.
  const isRepeated = cost <= sizes.max / 2 && block.last > block.first + 1;
  if (!isRepeated) return packLines(lines, block.first, block.last, sizes, "");
  const left = { ...sizes, target: Math.max(sizes.target - cost, sizes.target / 2), max: sizes.max - cost };
  const rows = packLines(lines, block.first + 2, block.last, left, header);
  const [head, ...rest] = rows;
  if (head === undefined) return [];
  return [{ start: lines.start(block.first), end: head.end, prefix: "" }, ...rest];
}

/** Whole lines together up to the target; a line beyond the maximum is cut within. */
function packLines(lines: Lines, first: number, last: number, sizes: Sizes, prefix: string): Piece[] {
  const pieces: Piece[] = [];
  let start = lines.start(first);
  let size = 0;
  for (let line = first; line <= last; line += 1) {
    const from = lines.start(line);
    const to = lines.start(line + 1);
    const cost = estimateRange(lines.text, from, to);
    if (size > 0 && size + cost > sizes.target) {
      pieces.push({ start, end: trimEnd(lines.text, start, from), prefix });
      start = from;
      size = 0;
    }
    if (cost > sizes.max) {
      const parts = cutSentences(lines.text, from, endOf(lines, line), sizes, 0);
      for (const part of parts) pieces.push({ ...part, prefix });
      start = to;
    } else size += cost;
  }
  const end = endOf(lines, last);
  if (start < end) pieces.push({ start, end, prefix });
  return pieces;
}

/** Pieces of running text that end with a sentence where there is one near, and begin again `overlap` before. */
function cutSentences(text: string, start: number, end: number, sizes: Sizes, overlap: number): Piece[] {
  const pieces: Piece[] = [];
  for (let from = start; from < end;) {
    const to = pieceEnd(text, from, end, sizes);
    pieces.push({ start: from, end: trimEnd(text, from, to), prefix: "" });
    if (to >= end) break;
    from = Math.max(skipBlanks(text, overlapStart(text, from, to, overlap), to), from + 1);
  }
  return pieces;
}

function pieceEnd(text: string, start: number, end: number, { target, max }: Sizes): number {
  let tokens = 0;
  let soft = end;
  let at = start;
  for (; at < end; at += 1) {
    tokens += weightAt(text, at);
    if (tokens > max) break;
    if (tokens <= target * 0.75) soft = at + 1;
  }
  if (at >= end) return end;
  // A sentence's end in the last quarter of the target or in the room above it, else a blank, else between characters.
  const sentence = lastMatch(text.slice(soft, at), SENTENCE_END);
  if (sentence > 0) return soft + sentence;
  const blank = text.slice(soft, at).search(/\s\S*$/);
  if (blank > 0) return soft + blank;
  return isLow(text.charCodeAt(at)) && at > start + 1 ? at - 1 : Math.max(at, start + 1);
}

/** Where the next piece begins: at a word within `overlap` tokens before the end of this one. */
function overlapStart(text: string, start: number, end: number, overlap: number): number {
  if (overlap <= 0) return end;
  let tokens = 0;
  let at = end;
  while (at > start + 1 && tokens + weightAt(text, at - 1) <= overlap) {
    at -= 1;
    tokens += weightAt(text, at);
  }
  const window = text.slice(at, end);
  SENTENCE_END.lastIndex = 0;
  const sentence = SENTENCE_END.exec(window);
  if (sentence !== null && sentence.index + sentence[0].length < window.length) {
    return at + sentence.index + sentence[0].length;
  }
  const blank = window.search(/\s/);
  if (blank >= 0) return at + blank;
  return isLow(text.charCodeAt(at)) ? at + 1 : at;
}

function lastMatch(text: string, pattern: RegExp): number {
  let end = 0;
  for (const match of text.matchAll(pattern)) end = match.index + match[0].length;
  return end;
}

function trimEnd(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && isBlank(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

function skipBlanks(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && isBlank(text.charCodeAt(at))) at += 1;
  return at;
}

function weightAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit < 0x1100) return 0.25;
  // Half of a pair each; nearly all of them are Han or emoji.
  if (unit >= 0xd800 && unit <= 0xdfff) return 1 / 3;
  return WIDE.test(text.charAt(at)) ? 1 / 1.5 : 0.25;
}

function isBlank(unit: number): boolean {
  return unit === 32 || unit === 10 || unit === 9 || unit === 13;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
