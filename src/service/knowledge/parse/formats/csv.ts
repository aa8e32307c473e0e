import { Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import { tableRule, escapeCell } from "./escape.ts";
import { withoutPages, type Markdown, type Original } from "./format.ts";
import { readText } from "./text.ts";

/** Rows after which the header stands again, as a new table. */
const ROWS_A_TABLE = 200;
const SAMPLE = 65_536;
const MAX_RECORD = 1_000_000;
const DELIMITERS = [",", ";", "\t", "|"] as const;

/** A table of text with separators, row by row; the first row is the header. */
export function parseCsv(original: Original, isTabbed: boolean): Markdown {
  return withoutPages(rowsOf(original, isTabbed));
}

async function* rowsOf(original: Original, isTabbed: boolean): AsyncGenerator<string> {
  const pieces = readText(original);
  const first = pieces.next();
  const head = first.done === true ? "" : first.value;
  const parser = Readable.from(join(head, pieces)).pipe(
    parse({
      delimiter: isTabbed ? "\t" : guessDelimiter(head.slice(0, SAMPLE)),
      bom: true,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      max_record_size: MAX_RECORD,
    }),
  );
  let header: readonly string[] | undefined;
  let count = 0;
  let out: string[] = [];
  try {
    for await (const row of parser as AsyncIterable<string[]>) {
      if (row.every((cell) => cell.trim() === "")) continue;
      if (header === undefined) {
        header = row;
        out.push(toRow(row, row.length), tableRule(row.length));
        continue;
      }
      if (count > 0 && count % ROWS_A_TABLE === 0) out.push("", toRow(header, header.length), tableRule(header.length));
      out.push(toRow(row, header.length));
      count += 1;
      if (out.length < ROWS_A_TABLE) continue;
      yield `${out.join("\n")}\n`;
      out = [];
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    original.warn(`the table ends early: ${error.message}`);
  }
  yield out.join("\n");
}

function* join(head: string, rest: Iterable<string>): Generator<string> {
  yield head;
  yield* rest;
}

function toRow(row: readonly string[], width: number): string {
  const filled = row.length >= width ? row : [...row, ...Array.from({ length: width - row.length }, () => "")];
  return `| ${filled.map(escapeCell).join(" | ")} |`;
}

/** The separator that cuts the first lines most evenly, outside of quotes. */
function guessDelimiter(sample: string): string {
  const lines = sample
    .replace(/"(?:[^"]|"")*"/g, '""')
    .split(/\r\n?|\n/)
    .filter((line) => line.trim() !== "")
    .slice(0, 100);
  // The last one may be cut.
  if (lines.length > 1) lines.pop();
  const scores = DELIMITERS.map((delimiter) => {
    const counts = lines.map((line) => line.split(delimiter).length - 1);
    const header = counts[0] ?? 0;
    return header === 0
      ? 0
      : (counts.filter((count) => count === header).length / counts.length) * 100 + Math.min(header, 50);
  });
  return DELIMITERS[scores.indexOf(Math.max(...scores))] ?? ",";
}
