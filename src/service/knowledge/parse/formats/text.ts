import { ParseFailed } from "../failures.ts";
import { chooseEncoding, decodeText } from "../text-encoding.ts";
import { escapeLine } from "./escape.ts";
import { withoutPages, type Markdown, type Original } from "./format.ts";

/** Reads bytes as text, in pieces; an encoding that had to be guessed is a warning. @throws {ParseFailed} `corrupt` */
export function readText(original: Original): Generator<string> {
  const choice = chooseEncoding(original.bytes);
  if (choice === undefined) throw new ParseFailed("corrupt", "the bytes are no text in any encoding that is known");
  if (choice.name !== "utf-8") original.warn(`read as ${choice.name}`);
  return decodeText(original.bytes, choice);
}

/** Markdown as it is. */
export function parseMarkdown(original: Original): Markdown {
  return withoutPages(readText(original));
}

/** Plain text as paragraphs: nothing in it becomes a heading, table or fence. */
export function parsePlainText(original: Original): Markdown {
  return withoutPages(escapeLines(readText(original)));
}

function* escapeLines(pieces: Iterable<string>): Generator<string> {
  let rest = "";
  for (const piece of pieces) {
    // Held until its end is here; a text of one line goes on as it is.
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield `${lines.map(unindent).join("\n")}\n`;
    if (rest.length > 1_000_000) {
      yield escapeLine(rest);
      rest = "";
    }
  }
  yield unindent(rest);
}

/** A deep indent would be a block of code; what stands in columns stays in one line. */
function unindent(line: string): string {
  return escapeLine(line.replace(/^[ \t]{4,}/, "   "));
}
