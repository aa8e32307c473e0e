import { DocumentError, scanDocument } from "./scan-document.ts";

/** One value of a JSON object: of a field, or one element of a field that is read element by element. */
export interface DocumentValue {
  readonly field: string;
  /** 0-based; absent for a field that is one value. */
  readonly index?: number;
  readonly value: unknown;
}

/**
 * Reads a JSON object value by value, whatever its size. The elements of some fields come one at a time, after an empty
 * array that marks where they begin.
 *
 * This file only finds where values begin and end; `JSON.parse` reads each of them.
 * @param lists - fields whose arrays are read element by element
 * @throws {DocumentError} if the text is not JSON, not an object, or ends too early
 */
export async function* readDocumentValues(
  chunks: AsyncIterable<Buffer>,
  lists: ReadonlySet<string>,
): AsyncGenerator<DocumentValue> {
  let text = "";
  let list: { readonly field: string; index: number } | undefined;
  /** Nothing but a comma or the end of the object may follow. */
  let isListDone = false;
  let where = START;
  let hasEnded = false;

  for await (const { before, mark, depth } of scanDocument(chunks)) {
    text += before;
    const isBlank = text.trim() === "";
    if (hasEnded) {
      if (mark === "end" && isBlank) return;
      throw new DocumentError("goes on after its end");
    }
    if (mark === "end" && depth > 0) throw new DocumentError(`is cut off: it ends after ${where}`);
    if (depth === 0) {
      if (mark !== "{" || !isBlank) throw new DocumentError("is no JSON object");
      text = "";
    } else if (depth === 2 && list !== undefined) {
      if (mark === "}") throw notJson(where);
      if (mark === "," || !isBlank || list.index > 0) {
        where = `${list.field}.${list.index}`;
        yield { ...list, value: parse(text, where) };
        list.index += 1;
      }
      text = "";
      if (mark === "]") [list, isListDone] = [undefined, true];
    } else if (depth === 1 && (mark === "," || mark === "}")) {
      hasEnded = mark === "}";
      const isEmptyObject = hasEnded && isBlank && where === START;
      if (isListDone !== isBlank && !isEmptyObject) throw notJson(where);
      if (!isBlank) {
        const value = toField(text, where);
        where = value.field;
        yield value;
      }
      [text, isListDone] = ["", false];
    } else if (depth === 1 && mark === "[" && lists.has(readKey(text) ?? "")) {
      where = readKey(text) ?? "";
      list = { field: where, index: 0 };
      yield { field: where, value: [] };
      text = "";
    } else {
      text += mark;
    }
    if (text.length > MAX_VALUE_CHARACTERS) throw new DocumentError(`has a value that is too long after ${where}`);
  }
}

const START = "its beginning";
/** The longest value that is not read element by element; the text of an input is 1 MiB. */
const MAX_VALUE_CHARACTERS = 16_777_216;

function toField(text: string, where: string): DocumentValue {
  const [key = "", name] = /^\s*("(?:[^"\\]|\\.)*")\s*:/.exec(text) ?? [];
  if (name === undefined) throw notJson(where);
  const field = String(parse(name, where));
  return { field, value: parse(text.slice(key.length), field) };
}

function readKey(text: string): string | undefined {
  return /^\s*"(\w+)"\s*:\s*$/.exec(text)?.[1];
}

function parse(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw notJson(where, error instanceof Error ? `: ${error.message}` : "");
  }
}

function notJson(where: string, reason = ""): DocumentError {
  return new DocumentError(`is not JSON at ${where}${reason}`);
}
