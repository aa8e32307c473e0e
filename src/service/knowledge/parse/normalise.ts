/** Longest line of Markdown, in UTF-16 units; a row of a table and a line of a fence may be longer. */
const LINE_LENGTH = 1_000;
const WIDE_LINE_LENGTH = 8_000;
/** A text without a line's end is cut after so much, that a file of one line is not held as one line. */
const HELD_LENGTH = 1_000_000;

// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff]/g;
const LINE_ENDS = /\r\n?|[\v\f\x85\u2028\u2029]/g;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** A text that is normalised piece by piece. */
export interface Normaliser {
  /** @returns what is certain by now, whole lines that end with `\n`; often nothing */
  push(text: string): string;
  /** @returns the rest */
  end(): string;
}

/**
 * Normalises Markdown: `\n` only, no trailing blanks, NFC, no control characters, at most one blank line and none at the
 * ends, lines over 1 000 units broken at a blank (over 8 000 in tables and fences).
 *
 * Normalising again changes nothing.
 */
export function createNormaliser(): Normaliser {
  let held = "";
  let fence = "";
  let isAfterBlank = true;
  let blanks = "";

  /** One line as it will stand. */
  function emit(line: string): string {
    if (line === "") {
      if (!isAfterBlank) blanks = "\n";
      isAfterBlank = true;
      return "";
    }
    const before = blanks;
    blanks = "";
    isAfterBlank = false;
    fence = fenceAfter(line, fence);
    return `${before}${line}\n`;
  }

  function addLine(raw: string): string {
    let line = raw.replace(CONTROLS, "").toWellFormed().normalize("NFC").trimEnd();
    let out = "";
    for (;;) {
      const limit = fence !== "" || line.startsWith("|") ? WIDE_LINE_LENGTH : LINE_LENGTH;
      if (line.length <= limit) return out + emit(line);
      const at = breakAt(line, limit);
      const head = line.slice(0, at).trimEnd();
      // What is read again is what stands there, so each part is checked as the line that it becomes.
      if (head !== "") out += emit(head);
      line = line.slice(at).trimStart();
    }
  }

  function take(isLast: boolean): string {
    // The other half of a line's end may be in the next piece.
    const isSplit = !isLast && held.endsWith("\r");
    const lines = (isSplit ? held.slice(0, -1) : held).replace(LINE_ENDS, "\n").split("\n");
    held = (lines.pop() ?? "") + (isSplit ? "\r" : "");
    let out = "";
    for (const line of lines) out += addLine(line);
    if (isLast) {
      out += addLine(held);
      held = "";
    } else if (held.length > HELD_LENGTH) {
      const at = breakAt(held, HELD_LENGTH);
      out += addLine(held.slice(0, at));
      held = held.slice(at).trimStart();
    }
    return out;
  }

  return {
    push(text) {
      held += text;
      return take(false);
    },
    end: () => take(true),
  };
}

/** The same for a text at hand. */
export function normalise(markdown: string): string {
  const normaliser = createNormaliser();
  return normaliser.push(markdown) + normaliser.end();
}

/** The fence in force after a line, or nothing. */
function fenceAfter(line: string, open: string): string {
  if (open === "") return FENCE.exec(line)?.[1] ?? "";
  const mark = line.trim();
  return mark.length >= open.length && mark === open.charAt(0).repeat(mark.length) ? "" : open;
}

/** Where a line is broken: before the last blank that fits, else between two characters. */
function breakAt(line: string, limit: number): number {
  for (let at = limit; at > 0; at -= 1) if (/\s/.test(line.charAt(at))) return at;
  const unit = line.charCodeAt(limit);
  return unit >= 0xdc00 && unit <= 0xdfff ? limit - 1 : limit;
}
