/** What a block of Markdown is; only what matters for cutting is distinguished. */
export type BlockKind = "heading" | "page" | "paragraph" | "item" | "table" | "fence";

/** Lines of Markdown that belong together. The blocks of a text follow one another and leave out only blank lines. */
export interface Block {
  readonly kind: BlockKind;
  /** First and last line, counted from 0. */
  readonly first: number;
  readonly last: number;
  /** Of a heading 1 to 6, of a page its number, else 0. */
  readonly level: number;
}

/** The lines of a text, by their offsets in UTF-16 units. A text has as many lines as `\n`, plus a last one if not empty. */
export interface Lines {
  readonly text: string;
  readonly count: number;
  /** Offset of the first unit of a line; of `count`: the length of the text. */
  start(line: number): number;
  /** The line without its `\n`. */
  line(line: number): string;
}

const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const PAGE = /^<!-- page (\d{1,9}) -->$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ITEM = /^\s{0,12}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const SETEXT = /^ {0,3}(=+|-+)$/;
const TABLE_RULE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/;
/** Longest line in which a rule of a table is looked for. */
const RULE_LENGTH = 8_000;

/** Finds the lines of a text. */
export function linesOf(text: string): Lines {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  if (starts.at(-1) === text.length) starts.pop();
  const count = starts.length;
  const start = (line: number): number => starts[line] ?? text.length;
  return {
    text,
    count,
    start,
    line(line) {
      const end = start(line + 1);
      return text.slice(start(line), text.charCodeAt(end - 1) === 10 ? end - 1 : end);
    },
  };
}

/** Reads Markdown as blocks, in order. */
export function* blocksOf(lines: Lines): Generator<Block> {
  for (let first = 0; first < lines.count;) {
    const line = lines.line(first);
    if (line.trim() === "") {
      first += 1;
      continue;
    }
    const block = blockAt(lines, first, line);
    yield block;
    first = block.last + 1;
  }
}

function blockAt(lines: Lines, first: number, line: string): Block {
  const page = PAGE.exec(line);
  if (page !== null) return { kind: "page", first, last: first, level: Number(page[1]) };
  const heading = HEADING.exec(line);
  if (heading !== null) return { kind: "heading", first, last: first, level: heading[1]?.length ?? 1 };
  const fence = FENCE.exec(line)?.[1];
  if (fence !== undefined) return { kind: "fence", first, last: fenceEnd(lines, first, fence), level: 0 };
  if (isTableAt(lines, first, line)) {
    return { kind: "table", first, last: lastWhile(lines, first + 1, (next) => next.includes("|")), level: 0 };
  }
  if (RULE.test(line)) return { kind: "paragraph", first, last: first, level: 0 };
  const last = lastWhile(lines, first, (next, index) => !isStart(lines, next, index));
  if (ITEM.test(line)) return { kind: "item", first, last, level: 0 };
  const underline = last > first ? SETEXT.exec(lines.line(last)) : null;
  if (underline !== null)
    return { kind: "heading", first, last, level: underline[1]?.startsWith("=") === true ? 1 : 2 };
  return { kind: "paragraph", first, last, level: 0 };
}

/** The last line of a run of lines that are not blank and of which each after the first fulfils the test. */
function lastWhile(lines: Lines, first: number, test: (line: string, index: number) => boolean): number {
  let last = first;
  for (; last + 1 < lines.count; last += 1) {
    const next = lines.line(last + 1);
    if (next.trim() === "" || !test(next, last + 1)) break;
    // What a paragraph is underlined with is its end.
    if (SETEXT.test(next)) return last + 1;
  }
  return last;
}

/** Whether a line begins another block in the middle of a paragraph or item. */
function isStart(lines: Lines, line: string, index: number): boolean {
  return PAGE.test(line) || HEADING.test(line) || FENCE.test(line) || ITEM.test(line) || isTableAt(lines, index, line);
}

function isTableAt(lines: Lines, index: number, line: string): boolean {
  if (!line.includes("|") || index + 1 >= lines.count) return false;
  const rule = lines.line(index + 1);
  return rule.includes("|") && rule.length <= RULE_LENGTH && TABLE_RULE.test(rule);
}

function fenceEnd(lines: Lines, first: number, fence: string): number {
  for (let line = first + 1; line < lines.count; line += 1) {
    const text = lines.line(line).trim();
    if (text.length >= fence.length && text === fence.charAt(0).repeat(text.length)) return line;
  }
  return lines.count - 1;
}
