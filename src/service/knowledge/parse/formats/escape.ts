/** Text from a document, made safe as one cell of a table. */
export function escapeCell(text: string): string {
  return text
    .trim()
    .replace(/\\(?=\|)/g, "\\\\")
    .replaceAll("|", "\\|")
    .replace(/\s*[\r\n\v\f\u2028\u2029]+\s*/g, "<br>");
}

/**
 * A line of running text that must not turn into a heading, table, fence or page mark. Lists and quotes stay what they look
 * like: a text that writes them means them.
 */
export function escapeLine(line: string): string {
  return line.replace(/^(\s*)(#{1,6}(?=\s|$)|```|~~~|\||<!--|=+\s*$|-{2,}\s*$)/, "$1\\$2");
}

/** Rows as a GFM table; the first is the header. Rows of other lengths are filled up. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const width = rows.reduce((widest, row) => Math.max(widest, row.length), 0);
  const line = (row: readonly string[]): string =>
    `| ${Array.from({ length: width }, (_, index) => escapeCell(row[index] ?? "")).join(" | ")} |`;
  const [header = [], ...body] = rows;
  return [line(header), tableRule(width), ...body.map(line)].join("\n");
}

/** The line under a header. */
export function tableRule(width: number): string {
  return `|${" --- |".repeat(width)}`;
}
