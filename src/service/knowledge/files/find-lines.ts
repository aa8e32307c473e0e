import { RE2JS } from "re2js";

/** What is looked for in a text. */
export interface Search {
  readonly text: string;
  readonly patterns: readonly string[];
  readonly isRegex: boolean;
  readonly isCaseSensitive: boolean;
  readonly maxWindows: number;
  /** Lines of a window. */
  readonly windowSize: number;
  /** Only windows behind this line. */
  readonly afterLine: number;
}

/** Lines around matches; they do not overlap, and are in order. */
export interface Window {
  readonly start_line: number;
  readonly end_line: number;
  readonly matched_lines: number[];
  readonly content: string;
}

export interface Findings {
  /** Matching lines of the whole text. */
  readonly total_matches: number;
  readonly total_lines: number;
  readonly windows: Window[];
  readonly has_more: boolean;
  readonly next_after_line: number | null;
}

/** A regular expression that RE2 does not take. */
export class PatternInvalid extends Error {
  constructor(pattern: string, why: string) {
    super(`${JSON.stringify(pattern)}: ${why}`);
    this.name = "PatternInvalid";
  }
}

/**
 * Finds lines and shows them in windows. Linear in the text (RE2), and synchronous: not for the service's own thread.
 *
 * @throws {PatternInvalid}
 */
export function findLines(search: Search): Findings {
  const lines = search.text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const isMatch = compile(search);
  const matches = lines.flatMap((line, index) => (isMatch(line) ? [index + 1] : []));
  const wanted = matches.filter((line) => line > search.afterLine);
  const windows: Window[] = [];
  let next = 0;
  let lastEnd = search.afterLine;
  while (next < wanted.length && windows.length < search.maxWindows) {
    const first = wanted[next] ?? 0;
    const start = Math.max(lastEnd + 1, first - Math.floor((search.windowSize - 1) / 2));
    const inReach = wanted.slice(next).filter((line) => line < start + search.windowSize);
    // A window grows by the lines around each match, and is cut at its size: windows that touch are one.
    const last = inReach.at(-1) ?? first;
    const end = Math.min(
      lines.length,
      start + search.windowSize - 1,
      Math.max(last, first + Math.ceil((search.windowSize - 1) / 2)),
    );
    windows.push({
      start_line: start,
      end_line: end,
      matched_lines: inReach.filter((line) => line <= end),
      content: lines.slice(start - 1, end).join("\n"),
    });
    next += inReach.filter((line) => line <= end).length;
    lastEnd = end;
  }
  const hasMore = next < wanted.length;
  return {
    total_matches: matches.length,
    total_lines: lines.length,
    windows,
    has_more: hasMore,
    next_after_line: hasMore ? lastEnd : null,
  };
}

function compile({ patterns, isRegex, isCaseSensitive }: Search): (line: string) => boolean {
  if (!isRegex) {
    const fold = (text: string): string => (isCaseSensitive ? text : text.toLowerCase());
    const words = patterns.map(fold);
    return (line) => {
      const folded = fold(line);
      return words.some((word) => folded.includes(word));
    };
  }
  const expressions = patterns.map((pattern) => {
    try {
      return RE2JS.compile(pattern, isCaseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
    } catch (error) {
      throw new PatternInvalid(pattern, error instanceof Error ? error.message : String(error));
    }
  });
  return (line) => expressions.some((expression) => expression.matcher(line).find());
}
