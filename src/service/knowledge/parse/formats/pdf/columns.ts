import { median, toRows, type Row, type TextItem } from "./geometry.ts";

/** Most cuts of a page; what is then left stands as it is. */
const MAX_CUTS = 64;
/** A gutter is at least so wide, in parts of the text's size. */
const GUTTER = 0.9;
/** Rows that a column has at least, beside its neighbour. */
const MIN_ROWS = 4;
/** Characters a row has on average in a column of text; a column of a table has fewer. */
const MIN_CHARACTERS = 14;
/** How much of a column's width its rows fill on average. */
const MIN_FILL = 0.5;

/** Where a gutter is, and how many rows leave it empty with text on both sides. */
interface Gutter {
  readonly x: number;
  readonly rows: number;
}

/**
 * The regions of a page in reading order: what goes over the whole width, and columns one after the other.
 *
 * Cuts at gutters that are empty over several rows, never between rows that only happen to be apart. Costs O(n log n) a
 * cut, at most 64 cuts.
 */
export function toRegions(items: readonly TextItem[]): Row[][] {
  let cuts = 0;
  function cut(part: readonly TextItem[]): Row[][] {
    const rows = toRows(part);
    const gutter = cuts < MAX_CUTS ? findGutter(rows) : undefined;
    if (gutter === undefined) return [rows];
    const bands = toBands(rows, gutter.x);
    if (bands.every(({ isCut }) => !isCut)) return [rows];
    return bands.flatMap((band) => {
      if (!band.isCut) return [band.rows];
      cuts += 1;
      const inBand = band.rows.flatMap((row) => row.items);
      return [
        ...cut(inBand.filter((item) => centre(item) < gutter.x)),
        ...cut(inBand.filter((item) => centre(item) >= gutter.x)),
      ];
    });
  }
  return cut(items).filter((rows) => rows.length > 0);
}

/** Rows of a page that stand together, by whether the gutter cuts them. */
interface Band {
  readonly rows: Row[];
  isCut: boolean;
}

/** Runs of rows that leave the gutter empty, and rows across it. */
function toBands(rows: readonly Row[], x: number): Band[] {
  const bands: Band[] = [];
  for (const row of rows) {
    const isCut = !row.items.some((item) => item.x < x && item.x + item.width > x);
    const band = bands.at(-1);
    if (band?.isCut === isCut) band.rows.push(row);
    else bands.push({ rows: [row], isCut });
  }
  for (const band of bands) band.isCut &&= areColumns(band.rows, x);
  for (const [index, band] of bands.entries()) {
    const next = bands[index + 1];
    if (band.isCut && next !== undefined) next.rows.unshift(...takeLastOfOneSide(band.rows, x));
  }
  // What is no column after all belongs to what it stands between.
  return bands.reduce<Band[]>((merged, band) => {
    const last = merged.at(-1);
    if (last !== undefined && !last.isCut && !band.isCut) last.rows.push(...band.rows);
    else merged.push(band);
    return merged;
  }, []);
}

/**
 * Takes away the last rows of columns that what follows over the whole width begins with: a heading stands on the left,
 * below both columns and apart from them.
 */
function takeLastOfOneSide(rows: Row[], x: number): Row[] {
  const lowest = rows.findLastIndex(({ items }) => items.some((item) => centre(item) >= x));
  const from = rows.findIndex((row, index) => {
    const before = rows[index - 1];
    return index > lowest && before !== undefined && row.y - before.y > row.size * 1.6;
  });
  return from === -1 || rows.length - from > 3 ? [] : rows.splice(from);
}

/** Whether both sides are columns of text: enough rows, and rows that fill their side. */
function areColumns(rows: readonly Row[], x: number): boolean {
  return [true, false].every((isLeft) => {
    const side = toRows(rows.flatMap(({ items }) => items.filter((item) => centre(item) < x === isLeft)));
    if (side.length < MIN_ROWS) return false;
    const left = Math.min(...side.map((row) => row.x));
    const right = Math.max(...side.map((row) => row.right));
    const characters = side.reduce((sum, { items }) => sum + items.reduce((all, { text }) => all + weight(text), 0), 0);
    const filled = side.reduce((sum, row) => sum + row.items.reduce((all, { width }) => all + width, 0), 0);
    return characters / side.length >= MIN_CHARACTERS && filled / side.length >= (right - left) * MIN_FILL;
  });
}

/** A Han or kana character counts as two letters. */
function weight(text: string): number {
  return text.length + (text.match(/[\u2e80-\u9fff\uff00-\uffef]/g)?.length ?? 0);
}

/** The place that most rows leave empty, with text on both sides of it. */
function findGutter(rows: readonly Row[]): Gutter | undefined {
  if (rows.length < MIN_ROWS) return undefined;
  const left = Math.min(...rows.map(({ x }) => x));
  const right = Math.max(...rows.map((row) => row.right));
  const width = median(rows.map(({ size }) => size)) * GUTTER;
  const buckets = Math.min(Math.ceil(right - left), 5_000);
  if (!Number.isFinite(buckets) || buckets < 10) return undefined;
  // +1 where a gap begins, -1 where it ends: their sum at a place is the number of gaps over it.
  const changes = new Int32Array(buckets + 2);
  for (const gap of gapsOf(rows, width)) {
    const from = Math.min(Math.max(Math.ceil(gap.from - left), 0), buckets);
    const to = Math.min(Math.max(Math.floor(gap.to - left), 0), buckets);
    if (to <= from) continue;
    changes[from] = (changes[from] ?? 0) + 1;
    changes[to] = (changes[to] ?? 0) - 1;
  }
  let over = 0;
  let best = { from: 0, to: 0, rows: 0 };
  for (let at = 0; at <= buckets; at += 1) {
    over += changes[at] ?? 0;
    if (over > best.rows) best = { from: at, to: at + 1, rows: over };
    else if (over === best.rows && best.to === at) best = { ...best, to: at + 1 };
  }
  return best.rows < MIN_ROWS - 1 ? undefined : { x: left + (best.from + best.to) / 2, rows: best.rows };
}

/** Gaps between what stands beside each other; columns need not share baselines, so neighbours in height count too. */
function* gapsOf(rows: readonly Row[], width: number): Generator<{ from: number; to: number }> {
  for (const [index, row] of rows.entries()) {
    const near = [row, rows[index + 1]].flatMap((other) =>
      other !== undefined && other.y - row.y <= row.size * 1.5 ? other.items : [],
    );
    let right = -Infinity;
    for (const item of near.toSorted((one, two) => one.x - two.x)) {
      if (right !== -Infinity && item.x - right >= width) yield { from: right, to: item.x };
      right = Math.max(right, item.x + item.width);
    }
  }
}

function centre(item: TextItem): number {
  return item.x + item.width / 2;
}
