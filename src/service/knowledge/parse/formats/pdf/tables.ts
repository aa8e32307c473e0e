import { cellsOf, type Cell, type Row } from "./geometry.ts";

/** Rows of a region that stand together: a table, or running text. */
export type Group =
  | { readonly kind: "table"; readonly rows: readonly (readonly string[])[]; readonly y: number }
  | { readonly kind: "text"; readonly rows: readonly Row[] };

const MARKER = /^([•◦▪▫■□●○‣⁃·–—*-]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])$/u;
/** Lines between which a table goes on are at most so far apart, in parts of the size. */
const ROW_GAP = 3.2;

interface Column {
  left: number;
  right: number;
}

/** Finds tables in a region: at least two lines in a row, whose cells stand below each other. */
export function groupTables(rows: readonly Row[]): Group[] {
  const groups: Group[] = [];
  let text: Row[] = [];
  for (let at = 0; at < rows.length;) {
    const table = tableAt(rows, at);
    if (table === undefined) {
      const row = rows[at];
      if (row !== undefined) text.push(row);
      at += 1;
      continue;
    }
    if (text.length > 0) groups.push({ kind: "text", rows: text });
    text = [];
    groups.push({ kind: "table", rows: table.rows, y: rows[at]?.y ?? 0 });
    at += table.length;
  }
  if (text.length > 0) groups.push({ kind: "text", rows: text });
  return groups;
}

/** The table that begins with a row. `length` counts rows of the page. */
function tableAt(rows: readonly Row[], from: number): { rows: string[][]; length: number } | undefined {
  const lines: Cell[][] = [];
  let columns: Column[] = [];
  let length = 0;
  for (let at = from; at < rows.length; at += 1) {
    const row = rows[at];
    const before = rows[at - 1];
    if (row === undefined) break;
    if (lines.length > 0 && before !== undefined && row.y - before.y > row.size * ROW_GAP) break;
    const cells = cellsOf(row);
    if (cells.length < 2) {
      if (!continues(cells[0], columns, lines, rows, at)) break;
      length += 1;
      continue;
    }
    if (cells.slice(0, -1).every(({ text }) => MARKER.test(text))) break;
    const merged = withCells(columns, cells);
    if (merged === undefined) break;
    columns = merged;
    lines.push(cells);
    length += 1;
  }
  if (lines.length < 2 || columns.length < 2) return undefined;
  return { rows: lines.map((cells) => columns.map((column) => textIn(cells, column))), length };
}

/** Whether a line of one cell is the second line of a cell, and if so adds it there. */
function continues(
  cell: Cell | undefined,
  columns: readonly Column[],
  lines: Cell[][],
  rows: readonly Row[],
  at: number,
): boolean {
  const last = lines.at(-1);
  const row = rows[at];
  const before = rows[at - 1];
  if (cell === undefined || last === undefined || row === undefined || before === undefined) return false;
  if (row.y - before.y > row.size * 1.45) return false;
  const column = columns.findIndex(
    ({ left, right }) => cell.x >= left - 1 && cell.right <= right + row.size * 4 && cell.x < right,
  );
  const next = columns[column + 1];
  if (column < 1 || (next !== undefined && cell.right > next.left)) return false;
  const own = columns[column];
  const index = last.findIndex(({ x, right }) => own !== undefined && x < own.right && right > own.left);
  const above = last[index];
  if (above === undefined) return false;
  last[index] = { ...above, text: `${above.text} ${cell.text}`, right: Math.max(above.right, cell.right) };
  return true;
}

/** The columns with another line's cells in them; undefined when two cells would share one. */
function withCells(columns: readonly Column[], cells: readonly Cell[]): Column[] | undefined {
  if (columns.length === 0) return cells.map(({ x, right }) => ({ left: x, right }));
  const merged = columns.map((column) => ({ ...column }));
  const taken = new Set<Column>();
  for (const { x, right } of cells) {
    const over = merged.filter((column) => x < column.right && right > column.left);
    const [own] = over;
    if (over.length > 1 || (own !== undefined && taken.has(own))) return undefined;
    if (own === undefined) {
      const column = { left: x, right };
      taken.add(column);
      merged.push(column);
      continue;
    }
    taken.add(own);
    own.left = Math.min(own.left, x);
    own.right = Math.max(own.right, right);
  }
  const sorted = merged.toSorted((one, two) => one.left - two.left);
  return sorted.some(({ right }, index) => right > (sorted[index + 1]?.left ?? Infinity)) ? undefined : sorted;
}

function textIn(cells: readonly Cell[], { left, right }: Column): string {
  return cells
    .filter((cell) => cell.x < right && cell.right > left)
    .map(({ text }) => text)
    .join(" ");
}
