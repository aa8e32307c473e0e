/** Some of a program's output, all of one look. */
export interface StyledText {
  readonly text: string;
  /** Names of the styles, such as `ansi-1` for red and `ansi-bold`. */
  readonly classes: string;
}

interface Look {
  readonly colour: string;
  readonly isBold: boolean;
  readonly isDim: boolean;
  readonly isItalic: boolean;
  readonly isUnderlined: boolean;
}

const PLAIN: Look = { colour: "", isBold: false, isDim: false, isItalic: false, isUnderlined: false };

/**
 * Sequences that a terminal obeys: CSI, strings such as OSC (titles, links, the clipboard), and the short ones. One that
 * has no end removes only its beginning.
 *
 * @see ECMA-48 5.4 and 8.3.117
 */
const SEQUENCE =
  // eslint-disable-next-line no-control-regex -- control characters are what this finds
  /(?:\u001b\[|\u009b)([0-?]*)[ -/]*([@-~])|\u001b[\]PX^_][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)|\u001b[ -/]*[0-OQ-WYZ`-~]/gu;

/**
 * Reads a program's output as a terminal would, as far as colours go: they become styles, every other sequence is left
 * out. No sequence has any effect. A carriage return overwrites its line, as progress bars expect.
 */
export function readAnsi(output: string): StyledText[] {
  const text = overwriteLines(output);
  const pieces: StyledText[] = [];
  let look = PLAIN;
  let from = 0;
  const add = (part: string): void => {
    if (part !== "") pieces.push({ text: part, classes: classesOf(look) });
  };
  for (const match of text.matchAll(SEQUENCE)) {
    add(text.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === "m") look = applySgr(look, match[1] ?? "");
  }
  add(text.slice(from));
  return pieces;
}

/** What is left of a line after its carriage returns. */
function overwriteLines(output: string): string {
  if (!output.includes("\r")) return output;
  return output
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1).replace(/\r+$/, ""))
    .join("\n");
}

function applySgr(look: Look, parameters: string): Look {
  const codes = parameters.split(/[;:]/).map((code) => (code === "" ? 0 : Number(code)));
  let now = look;
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 0) now = PLAIN;
    else if (code === 1) now = { ...now, isBold: true };
    else if (code === 2) now = { ...now, isDim: true };
    else if (code === 3) now = { ...now, isItalic: true };
    else if (code === 4) now = { ...now, isUnderlined: true };
    else if (code === 22) now = { ...now, isBold: false, isDim: false };
    else if (code === 23) now = { ...now, isItalic: false };
    else if (code === 24) now = { ...now, isUnderlined: false };
    else if (code === 39) now = { ...now, colour: "" };
    else if (code >= 30 && code <= 37) now = { ...now, colour: `ansi-${code - 30}` };
    else if (code >= 90 && code <= 97) now = { ...now, colour: `ansi-${code - 90}` };
    else if (code === 38 || code === 48) {
      const isIndexed = codes[index + 1] === 5;
      const colour = codes[index + 2] ?? 0;
      // Of 256 colours the first 16 have names; the others, and true colours, are shown as plain text.
      if (code === 38 && isIndexed && colour < 16) now = { ...now, colour: `ansi-${colour % 8}` };
      index += isIndexed ? 2 : 4;
    }
    // Backgrounds are left out: with the page's own colours they could hide the text.
  }
  return now;
}

function classesOf(look: Look): string {
  return [
    look.colour,
    look.isBold ? "ansi-bold" : "",
    look.isDim ? "ansi-dim" : "",
    look.isItalic ? "ansi-italic" : "",
    look.isUnderlined ? "ansi-underlined" : "",
  ]
    .filter((name) => name !== "")
    .join(" ");
}
