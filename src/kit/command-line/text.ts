/** Control characters, and those that turn or hide text; a tab and a line feed are neither. */
// oxlint-disable-next-line no-control-regex -- these are what is shown escaped
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const LINE = /[\t\n]/g;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NARROWLESS = /\p{M}|\u200b|\u200d/u;

/** Text of others, as it may be shown on a terminal: what could steer it is escaped, lines stay. */
export function safeText(text: string): string {
  return text.replaceAll(UNSAFE, escapeCharacter);
}

/** The same on one line. */
export function safeLine(text: string): string {
  return safeText(text).replaceAll(LINE, (character) => (character === "\t" ? "\\t" : "\\n"));
}

/** JSON without control characters of a terminal; still the same JSON. */
export function safeJson(body: unknown): string {
  return escapeJson(JSON.stringify(body, null, 2));
}

/** The same on one line. */
export function safeJsonLine(body: unknown): string {
  return escapeJson(JSON.stringify(body));
}

/**
 * What an output gets: on a terminal what could steer it is escaped, as JSON escapes it, and lines stay; a file and a pipe get
 * every character.
 */
export function shownOn(out: object, text: string): string {
  return "isTTY" in out && out.isTTY === true ? escapeJson(text) : text;
}

function escapeJson(json: string): string {
  return json.replaceAll(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function escapeCharacter(character: string): string {
  const code = character.charCodeAt(0).toString(16);
  return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
}

/** Columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += NARROWLESS.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

/** The beginning of a text that takes at most so many columns. */
export function cutToWidth(text: string, columns: number): string {
  let width = 0;
  let kept = "";
  for (const character of text) {
    width += widthOf(character);
    if (width > columns) return kept;
    kept += character;
  }
  return kept;
}

/** Rows in columns; the last column is as long as it is. Cells are text of others and are made safe here. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const safe = [headings, ...rows.map((row) => row.map(safeLine))];
  const widths = headings.map((_heading, column) => Math.max(...safe.map((row) => widthOf(row[column] ?? ""))));
  return safe
    .map((row) =>
      row
        .map((cell, column) =>
          column === headings.length - 1 ? cell : cell + " ".repeat((widths[column] ?? 0) - widthOf(cell)),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** `1 file`, `3 files`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** A size for people: `512 B`, `1.5 MiB`. */
export function formatBytes(sizeBytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = sizeBytes;
  let unit = 0;
  while (size >= 1_024 && unit < units.length - 1) {
    size /= 1_024;
    unit += 1;
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}
