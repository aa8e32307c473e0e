const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The limits of a JSON text. */
export interface JsonLimits {
  /** Values and names of all levels together. */
  readonly values: number;
  readonly depth: number;
}

/** The content of a string of a JSON text, without its quotes. */
export interface StringSpan {
  readonly begin: number;
  readonly end: number;
}

/** The result of a scan. */
export interface JsonScan {
  /** The limit that the text exceeds. */
  readonly excess: keyof JsonLimits | undefined;
  /** Strings that are values, long, and have no escapes, in order. */
  readonly longStrings: readonly StringSpan[];
}

const LONG_STRING_BYTES = 65_536;

/**
 * Reads a JSON text before it is parsed: what parsing and validating cost grows with its values and levels, not with bytes
 * only. A text that is no JSON may pass; parsing it stops where it is wrong.
 *
 * @param longBytes - bytes from which on a string is long
 */
export function scanJson(text: Uint8Array, limits: JsonLimits, longBytes: number = LONG_STRING_BYTES): JsonScan {
  const longStrings: StringSpan[] = [];
  let values = 0;
  let depth = 0;
  let at = 0;
  for (;;) {
    at = skipSpace(text, at);
    const byte = text[at];
    if (byte === undefined) return { excess: undefined, longStrings };
    if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      depth -= 1;
      at += 1;
      continue;
    }
    values += 1;
    if (values > limits.values) return { excess: "values", longStrings };
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > limits.depth) return { excess: "depth", longStrings };
      at += 1;
    } else if (byte === QUOTE) {
      const begin = at + 1;
      at = skipString(text, at);
      const span = { begin, end: at - 1 };
      if (span.end - begin >= longBytes && isPlainValue(text, span)) longStrings.push(span);
    } else at = skipWord(text, at);
  }
}

/** Whether a string is closed, has no escapes, and is not a name. */
function isPlainValue(text: Uint8Array, { begin, end }: StringSpan): boolean {
  if (text[end] !== QUOTE || text.subarray(begin, end).includes(BACKSLASH)) return false;
  let after = end + 1;
  while (text[after] !== COLON && isSpace(text[after]) && text[after] !== COMMA) after += 1;
  return text[after] !== COLON;
}

function skipSpace(text: Uint8Array, begin: number): number {
  let at = begin;
  while (at < text.length && isSpace(text[at])) at += 1;
  return at;
}

/** @param begin - at the quote that opens it @returns behind the one that closes it */
function skipString(text: Uint8Array, begin: number): number {
  const quote = text.indexOf(QUOTE, begin + 1);
  if (quote === -1) return text.length;
  if (text[quote - 1] !== BACKSLASH) return quote + 1;
  // Byte by byte: to look for each of many escaped quotes costs more.
  for (let at = begin + 1; at < text.length; at += 1) {
    if (text[at] === QUOTE) return at + 1;
    if (text[at] === BACKSLASH) at += 1;
  }
  return text.length;
}

/** A number, `true`, `false` or `null`; or what is no JSON. */
function skipWord(text: Uint8Array, begin: number): number {
  let at = begin + 1;
  while (at < text.length && !isDelimiter(text[at])) at += 1;
  return at;
}

/** Between values: blanks, commas and colons. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x2c || byte === 0x3a || byte === 0x0d || byte === 0x09;
}

function isDelimiter(byte: number | undefined): boolean {
  return (
    isSpace(byte) ||
    byte === QUOTE ||
    byte === OPEN_LIST ||
    byte === CLOSE_LIST ||
    byte === OPEN_OBJECT ||
    byte === CLOSE_OBJECT
  );
}
