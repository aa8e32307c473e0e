/** A line of a CLI that prints JSON lines, before anything is known of its shape. */
export type JsonLine =
  | { readonly kind: "blank" }
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "not_json" }
  /** Nested beyond what can be handed on. */
  | { readonly kind: "too_deep"; readonly value: unknown };

// eslint-disable-next-line no-control-regex -- escape sequences are what is looked for
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g;

/**
 * A tool's input is handed on as it is, and what writes JSON goes one call deeper with each level: V8 gives up at some
 * 4000, other readers sooner. No record of a CLI has more than 20.
 */
const MAX_LEVELS = 500;

const VISIBLE = /\S/;
/** A first character that is neither white space nor the beginning of an escape sequence. */
// eslint-disable-next-line no-control-regex -- escape sequences are what is looked for
const BEGINS = /^\s*[^\s\u001b]/;

/** Whether a line of stdout is no record at all: nothing stands in it but white space and terminal escapes. */
export function isBlank(text: string): boolean {
  return !text.startsWith("{") && !BEGINS.test(text) && !VISIBLE.test(stripEscapes(text));
}

/** Reads one line of stdout, terminal escapes around or inside its record taken out; never throws. */
export function readJsonLine(text: string): JsonLine {
  // JSON cannot hold a raw escape byte: what is read as it stands has none, and needs no second look.
  const value = parseJson(text);
  if (value !== undefined) return toValue(value, text);
  if (isBlank(text)) return { kind: "blank" };
  const plain = stripEscapes(stripMark(text));
  const within = plain === text ? undefined : parseJson(plain);
  return within === undefined ? { kind: "not_json" } : toValue(within, text);
}

function toValue(value: unknown, text: string): JsonLine {
  // Each level takes two characters at least, so most lines need no look.
  const isTooDeep = text.length > 2 * MAX_LEVELS && isDeeper(value, MAX_LEVELS);
  return { kind: isTooDeep ? "too_deep" : "value", value };
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((entry) => isDeeper(entry, levels - 1));
}

/** @returns undefined for what is not JSON, which is an answer, not an error */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Removes terminal escape sequences; JSON cannot hold a raw escape byte, so no record changes. */
export function stripEscapes(text: string): string {
  return text.includes("\u001b") ? text.replace(ESCAPES, "") : text;
}

/** Editors and shells put it before the first line of a file that they save. */
const BYTE_ORDER_MARK = "\ufeff";

function stripMark(text: string): string {
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}
