/** One line of the table: what turnd does, and what nothing but the necessary does in the same run. */
export interface Figure {
  readonly measure: string;
  readonly turnd: string;
  readonly yardstick: string;
  /** turnd's figure over the yardstick's. */
  readonly ratio: number;
  readonly target?: string;
}

/** Prints figures as a Markdown table. */
export function showFigures(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.measure,
    figure.turnd,
    figure.yardstick,
    figure.ratio.toFixed(2),
    figure.target ?? "",
    describeVerdict(figure),
  ]);
  const table = [["measure", "measured", "yardstick", "ratio", "target", "held"], ...rows];
  const widths = [0, 1, 2, 3, 4, 5].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const rule = line(widths.map((width) => "-".repeat(width)));
  const [head = [], ...body] = table;
  return [line(head), rule, ...body.map(line)].join("\n");
}

function describeVerdict(figure: Figure): string {
  const verdict = isHeld(figure);
  return verdict === undefined ? "" : verdict ? "yes" : "no";
}

/** Whether the ratio holds its target; undefined where the target is no ratio. */
function isHeld({ ratio, target }: Figure): boolean | undefined {
  const [, sense, bound] = /^(<=|>=) ([\d.]+)$/.exec(target ?? "") ?? [];
  if (bound === undefined) return undefined;
  return sense === "<=" ? ratio <= Number(bound) : ratio >= Number(bound);
}

/** The same figures for a program: as in the table, and `held` where the target is a ratio. */
export function listFigures(figures: readonly Figure[]): (Figure & { readonly held?: boolean })[] {
  return figures.map((figure) => {
    const held = isHeld(figure);
    return held === undefined ? figure : { ...figure, held };
  });
}

/** The value below which a share of all is; sorts a copy. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
