import type { MemberCheck } from "../archive.ts";
import { ParseFailed } from "../failures.ts";

/** Deepest nesting of the XML of an office document; Word's own stay below 100. */
const MAX_DEPTH = 500;

const [LESS, MORE, SLASH, BANG, QUESTION, D] = [0x3c, 0x3e, 0x2f, 0x21, 0x3f, 0x44];

/**
 * Looks at the XML of an archive while it is unpacked, before a library builds a tree of it: a document type is refused,
 * since it names other files and grows without end, and so is what is nested too deep for code that recurses.
 */
export const xmlGate: MemberCheck = (name) => {
  if (!/\.(xml|rels|vml)$/i.test(name)) return undefined;
  let depth = 0;
  let before = 0;
  let isTag = false;
  let isOpening = false;
  let isFirst = true;
  return (piece) => {
    if (isFirst && (piece[0] === 0xff || piece[0] === 0xfe || piece[1] === 0)) {
      throw new ParseFailed("corrupt", `${name} is not written in UTF-8`);
    }
    isFirst = false;
    for (const byte of piece) {
      if (before === LESS) {
        isTag = true;
        isOpening = byte !== SLASH && byte !== BANG && byte !== QUESTION;
        if (byte === SLASH) depth -= 1;
      } else if (isTag && before === BANG && byte === D) {
        throw new ParseFailed("corrupt", `${name} has a document type, which is refused`);
      } else if (byte === MORE && isTag) {
        if (isOpening && before !== SLASH) depth += 1;
        if (depth > MAX_DEPTH) throw new ParseFailed("too_deep", `${name} is nested deeper than ${MAX_DEPTH}`);
        isTag = false;
      }
      before = byte;
    }
  };
};
