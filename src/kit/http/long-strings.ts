import { randomUUID } from "node:crypto";
import { isAscii } from "node:buffer";
import type { StringSpan } from "./json-size.ts";

/** A JSON text without its long strings, and what puts them back into what is parsed from it. */
export interface ShortenedJson {
  readonly text: string;
  /** @returns the value, with the long strings in place of their marks */
  restore(value: unknown): unknown;
}

/** A character that is not written the same in the text of a JSON string and in its value. */
const NOT_LITERAL = /[^ !#-[\]-~]/;

/**
 * Takes the long strings of a JSON text out of what is parsed. JSON.parse reads and copies each character: for an image that is
 * several times as much as all else that is done with the body.
 */
export function shortenJson(body: Buffer, longStrings: readonly StringSpan[]): ShortenedJson {
  // No string of the body equals a mark: its prefix would have to be guessed.
  const prefix = longStrings.length === 0 ? "" : randomUUID();
  const texts = new Map<string, string>();
  const pieces: string[] = [];
  let from = 0;
  for (const { begin, end } of longStrings) {
    const content = body.toString("latin1", begin, end);
    if (NOT_LITERAL.test(content)) continue;
    const mark = `${prefix}${texts.size}`;
    texts.set(mark, content);
    pieces.push(decode(body.subarray(from, begin)), mark);
    from = end;
  }
  pieces.push(decode(body.subarray(from)));
  return { text: pieces.join(""), restore: (value) => (texts.size === 0 ? value : restoreIn(value, texts)) };
}

function decode(bytes: Buffer): string {
  return bytes.toString(isAscii(bytes) ? "latin1" : "utf8");
}

/** The limit of levels bounds the recursion. */
function restoreIn(value: unknown, texts: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") return texts.get(value) ?? value;
  if (isRecord(value)) {
    // The names are the object's own: the parser has refused those that are not.
    for (const [name, item] of Object.entries(value)) {
      if (typeof item === "string" ? texts.has(item) : item !== null) value[name] = restoreIn(item, texts);
    }
  }
  return value;
}

/** True of a list too. */
function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
