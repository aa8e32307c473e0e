import { ParseFailed } from "../failures.ts";
import { toTable } from "./escape.ts";
import { withoutPages, type Markdown, type Original } from "./format.ts";
import { readText } from "./text.ts";

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_DEPTH = 200;
const MAX_COLUMNS = 50;

/** JSON: an array of flat objects as a table, anything else in a fence. */
export function parseJson(original: Original): Markdown {
  const value = parseValue(readWhole(original));
  return withoutPages([toMarkdown(value, "json")]);
}

/** A value a line. Lines that are no JSON are left out with a warning. */
export function parseJsonLines(original: Original): Markdown {
  const values: unknown[] = [];
  let bad = 0;
  for (const line of readWhole(original).split("\n")) {
    if (line.trim() === "") continue;
    try {
      values.push(parseValue(line));
    } catch (error) {
      if (!(error instanceof ParseFailed) || error.code !== "corrupt") throw error;
      bad += 1;
    }
  }
  if (bad > 0 && values.length === 0) throw new ParseFailed("corrupt", "no line is JSON");
  if (bad > 0) original.warn(`${bad} lines are no JSON and were left out`);
  if (isFlat(values)) return withoutPages([toMarkdown(values, "json")]);
  return withoutPages(values.map((value) => `${toMarkdown(value, "json")}\n\n`));
}

function readWhole(original: Original): string {
  if (original.bytes.length > MAX_BYTES)
    throw new ParseFailed("output_limit", `JSON over ${MAX_BYTES} bytes is not read`);
  return [...readText(original)].join("");
}

function parseValue(text: string): unknown {
  assertShallow(text);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ParseFailed("corrupt", error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Before it is parsed: the parser recurses. */
function assertShallow(text: string): void {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (isInString) {
      if (unit === 0x5c) at += 1;
      else if (unit === 0x22) isInString = false;
    } else if (unit === 0x22) isInString = true;
    else if (unit === 0x5b || unit === 0x7b) {
      depth += 1;
      if (depth > MAX_DEPTH) throw new ParseFailed("too_deep", `JSON nested deeper than ${MAX_DEPTH}`);
    } else if (unit === 0x5d || unit === 0x7d) depth -= 1;
  }
}

function toMarkdown(value: unknown, language: string): string {
  if (!isFlat(value)) return ["```" + language, JSON.stringify(value, null, 2), "```"].join("\n");
  const columns = [...new Set(value.flatMap((row) => Object.keys(row)))];
  const rows = value.map((row) => columns.map((column) => toCell(row[column])));
  return toTable([columns, ...rows]);
}

function toCell(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Whether a value is an array of objects without objects in them. */
function isFlat(value: unknown): value is Record<string, unknown>[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  const columns = new Set<string>();
  for (const row of value as unknown[]) {
    if (typeof row !== "object" || row === null || Array.isArray(row)) return false;
    for (const [name, cell] of Object.entries(row)) {
      if (typeof cell === "object" && cell !== null) return false;
      columns.add(name);
    }
    if (columns.size > MAX_COLUMNS) return false;
  }
  return columns.size > 0;
}
