import { read, type CellObject, type WorkBook, type WorkSheet } from "@e965/xlsx";
import { openArchive } from "../archive.ts";
import { ParseFailed } from "../failures.ts";
import { tableRule, escapeCell } from "./escape.ts";
import { withoutPages, type Markdown, type Original } from "./format.ts";
import { xmlGate } from "./xml-gate.ts";

/** Cells of all tables of a file, empty ones within them too. */
const MAX_CELLS = 200_000;

/** A workbook: a heading and a table a sheet. */
export async function parseSheet(original: Original): Promise<Markdown> {
  if (original.bytes.readUInt16BE(0) === 0x504b) await openArchive(original.bytes, xmlGate);
  return withoutPages(sheetTexts(original, readBook(original.bytes)));
}

function readBook(bytes: Buffer): WorkBook {
  try {
    return read(bytes, {
      type: "buffer",
      dense: true,
      cellNF: true,
      cellHTML: false,
      cellFormula: false,
      sheetStubs: false,
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (/password|encrypt/i.test(message)) throw new ParseFailed("encrypted", message, { cause: error });
    if (error instanceof RangeError) throw error;
    throw new ParseFailed("corrupt", message, { cause: error });
  }
}

function* sheetTexts(original: Original, book: WorkBook): Generator<string> {
  let left = MAX_CELLS;
  const is1904 = book.Workbook?.WBProps?.date1904 === true;
  for (const name of book.SheetNames) {
    const sheet = book.Sheets[name];
    const rows = sheet === undefined ? [] : usedRows(sheet, is1904);
    const columns = [...new Set(rows.flatMap(({ cells }) => [...cells.keys()]))].toSorted((one, two) => one - two);
    if (rows.length === 0) continue;
    yield `## ${name.replace(/\s+/g, " ")}\n\n`;
    const fitting = Math.floor(left / columns.length);
    if (fitting < rows.length) {
      original.warn(
        `sheet ${name}: ${rows.length - fitting} of ${rows.length} rows were left out, over ${MAX_CELLS} cells`,
      );
    }
    yield* tableOf(rows.slice(0, fitting), columns);
    left -= Math.min(fitting, rows.length) * columns.length;
  }
}

interface Row {
  /** Texts by column; empty ones are not in it. */
  readonly cells: ReadonlyMap<number, string>;
}

function* tableOf(rows: readonly Row[], columns: readonly number[]): Generator<string> {
  let out = "";
  for (const [index, { cells }] of rows.entries()) {
    out += `| ${columns.map((column) => escapeCell(cells.get(column) ?? "")).join(" | ")} |\n`;
    if (index === 0) out += `${tableRule(columns.length)}\n`;
    if (out.length < 65_536) continue;
    yield out;
    out = "";
  }
  yield `${out}\n`;
}

/** Rows with at least one text. The sheet may declare 16 384 by 1 048 576 cells: only what is there is looked at. */
function usedRows(sheet: WorkSheet, is1904: boolean): Row[] {
  const rows: Row[] = [];
  const data: (CellObject | undefined)[][] = sheet["!data"] ?? [];
  // forEach skips what a sparse array does not have.
  data.forEach((row) => {
    const cells = new Map<number, string>();
    row?.forEach((cell, column) => {
      const text = cell === undefined ? "" : textOf(cell, is1904);
      if (text !== "") cells.set(column, text);
    });
    if (cells.size > 0) rows.push({ cells });
  });
  return rows;
}

/** What the sheet shows, but dates as ISO 8601. */
function textOf(cell: CellObject, is1904: boolean): string {
  if (cell.v instanceof Date) return cell.v.toISOString().replace(/T00:00:00\.000Z$|\.000Z$/, "");
  if (cell.t === "n" && typeof cell.v === "number" && typeof cell.z === "string" && isDateFormat(cell.z)) {
    return isoDate(cell.v, is1904);
  }
  return (cell.w ?? (cell.v === undefined ? "" : String(cell.v))).trim();
}

/** Whether a number format shows a date or a time of day; a duration (`[h]:mm`) is neither. */
function isDateFormat(format: string): boolean {
  if (/\[(h+|m+|s+)\]/i.test(format)) return false;
  const codes = format.replace(/"[^"]*"|\\.|_.|\*.|\[[^\]]*\]|General/gi, "");
  return /[ymdhs]/i.test(codes);
}

const DAY_MS = 86_400_000;
/** The day before which Excel counts one too few: it takes 1900 for a leap year. */
const LEAP_BUG = 60;

/** A count of days as ISO 8601; the fraction is the time of day. */
function isoDate(serial: number, is1904: boolean): string {
  const start = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, serial < LEAP_BUG ? 31 : 30);
  const date = new Date(start + Math.round((serial * DAY_MS) / 1_000) * 1_000);
  if (Number.isNaN(date.getTime())) return String(serial);
  const [day = "", time = ""] = date.toISOString().replace(".000Z", "").split("T");
  // A number below one is a time of day.
  if (serial < 1) return time;
  return time === "00:00:00" ? day : `${day}T${time}`;
}
