const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** What a JSON text may be made of. */
export interface JsonLimits {
  /** Values and names of all levels together. */
  readonly values: number;
  readonly depth: number;
}

/**
 * Finds what is beyond a limit in a JSON text, before it is parsed: what parsing and validating cost grows with it, not with
 * bytes alone. A text that is no JSON may pass; parsing it stops where it is wrong.
 */
export function findExcess(text: Uint8Array, limits: JsonLimits): keyof JsonLimits | undefined {
  let values = 0;
  let depth = 0;
  let at = 0;
  for (;;) {
    at = skipSpace(text, at);
    const byte = text[at];
    if (byte === undefined) return undefined;
    if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      depth -= 1;
      at += 1;
      continue;
    }
    values += 1;
    if (values > limits.values) return "values";
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > limits.depth) return "depth";
      at += 1;
    } else at = byte === QUOTE ? skipString(text, at) : skipWord(text, at);
  }
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
