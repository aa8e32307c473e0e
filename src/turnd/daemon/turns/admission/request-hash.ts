import { createHash } from "node:crypto";

/** Characters from which on a text is looked at before it is written as JSON: an image. */
const LONG = 65_536;
/** What JSON escapes, and all that is not ASCII. */
const NOT_LITERAL = /[^ !#-[\]-~]/;

/**
 * What makes two requests the same: after validation and defaults; the order of keys does not count. The SHA-256 of canonical
 * JSON, into which an image is never copied: it is hashed where it is.
 */
export function hashRequest(request: object): string {
  const hash = createHash("sha256");
  let text = "";

  function write(value: unknown): void {
    if (Array.isArray(value)) writeAll("[", value, "]", write);
    else if (typeof value === "object" && value !== null) {
      const entries = Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .toSorted(([a], [b]) => (a < b ? -1 : 1));
      writeAll("{", entries, "}", ([key, item]) => {
        text += `${JSON.stringify(key)}:`;
        write(item);
      });
    } else if (typeof value === "string" && value.length >= LONG && !NOT_LITERAL.test(value)) {
      hash.update(`${text}"`).update(value, "latin1");
      text = '"';
    } else text += JSON.stringify(value) ?? "null";
  }

  function writeAll<Item>(open: string, items: readonly Item[], close: string, writeItem: (item: Item) => void): void {
    text += open;
    for (const [index, item] of items.entries()) {
      if (index > 0) text += ",";
      writeItem(item);
    }
    text += close;
  }

  write(request);
  return hash.update(text).digest("hex");
}
