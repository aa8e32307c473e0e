import { CsvError, parse, type Parser } from "csv-parse";
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
  const rows: string[][] = [];
  const parser = parse({
    delimiter: isTabbed ? "\t" : guessDelimiter(head.slice(0, SAMPLE)),
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD,
    // Taken here: a stream that fails drops the rows that were not read from it yet.
    on_record(row: string[]) {
      if (row.some((cell) => cell.trim() !== "")) rows.push(row);
      return null;
    },
  });
  const write = createTableWriter();
  let failure = await feed(parser, head);
  yield write(rows.splice(0));
  for (const piece of pieces) {
    if (failure !== undefined) break;
    failure = await feed(parser, piece);
    yield write(rows.splice(0));
  }
  failure ??= await feed(parser, undefined);
  yield write(rows.splice(0));
  if (failure === undefined) return;
  if (!(failure instanceof CsvError)) throw failure;
  original.warn(`the table ends early: ${failure.message}`);
}

/** Has a piece read, or the end. @returns the fault in it */
async function feed(parser: Parser, piece: string | undefined): Promise<Error | undefined> {
  return await new Promise((resolve) => {
    const done = (error?: Error | null): void => resolve(error ?? undefined);
    parser.on("error", done);
    if (piece === undefined) parser.end(done);
    else parser.write(piece, done);
  });
}

/** Rows as lines of Markdown; the first is the header, and stands again where a new table begins. */
function createTableWriter(): (rows: readonly string[][]) => string {
  let header: readonly string[] | undefined;
  let count = 0;
  return (rows) => {
    const lines = rows.flatMap((row) => {
      if (header === undefined) {
        header = row;
        return [toRow(row, row.length), tableRule(row.length)];
      }
      const isNew = count > 0 && count % ROWS_A_TABLE === 0;
      count += 1;
      const line = toRow(row, header.length);
      return isNew ? ["", toRow(header, header.length), tableRule(header.length), line] : [line];
    });
    return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
  };
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
