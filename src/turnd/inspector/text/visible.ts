/** A piece of text as it is shown. */
export interface Piece {
  readonly text: string;
  /** A character that would be invisible or move others, by its number: it is shown as that. */
  readonly isControl?: true;
  /** An address that may be followed. */
  readonly href?: string;
}

/**
 * Characters that would not be seen, or that change what is seen around them: control characters but newline and tab,
 * marks of direction (a text could otherwise show another order than it has), blanks of no width, and tags, which carry
 * whole hidden texts.
 */
const HIDDEN =
  // eslint-disable-next-line no-control-regex -- control characters are what this finds
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Addresses of http and https. Punctuation that often follows one in a sentence is not part of it. */
const ADDRESS = /https?:\/\/[^\s<>"'`{}|\\^]+[^\s<>"'`{}|\\^.,;:!?)\]]/gu;

/** Divides a text into what is shown as it is and hidden characters, shown as their numbers. Line ends become newlines. */
export function showHidden(text: string): Piece[] {
  return divide(text.replaceAll("\r\n", "\n"), HIDDEN, (character) => ({ text: nameOf(character), isControl: true }));
}

/** The same as plain text, for a title. */
export function visibleText(text: string): string {
  return showHidden(text)
    .map((piece) => piece.text)
    .join("");
}

/** The same, with addresses that can be followed. */
export function showWithLinks(text: string): Piece[] {
  return showHidden(text).flatMap((piece) =>
    piece.isControl === true ? [piece] : divide(piece.text, ADDRESS, toLink),
  );
}

/** Whether a text may be followed as an address. */
export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function toLink(address: string): Piece {
  return isWebAddress(address) ? { text: address, href: address } : { text: address };
}

function nameOf(character: string): string {
  const number = character.codePointAt(0) ?? 0;
  return number === 0x1b ? "ESC" : `U+${number.toString(16).toUpperCase().padStart(4, "0")}`;
}

function divide(text: string, pattern: RegExp, found: (match: string) => Piece): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > from) pieces.push({ text: text.slice(from, match.index) });
    pieces.push(found(match[0]));
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from) });
  return pieces;
}
