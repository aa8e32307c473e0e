/** Values over the number of turns, and the line that fits them. */
export interface Series {
  readonly name: string;
  readonly unit: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  /** Per thousand turns. */
  readonly slope: Slope;
  readonly bound: number;
}

/** How steep a line is, and by how much that may be chance. */
export interface Slope {
  readonly value: number;
  /** Twice the standard error: of points that scatter around a level line, one fit in forty is steeper. */
  readonly doubt: number;
}

/** The slope of the line with the least squared distance to some points; level for fewer than three. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): Slope {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const [meanX, meanY] = [sum(points.map(([x]) => x)) / points.length, sum(points.map(([, y]) => y)) / points.length];
  const spread = sum(points.map(([x]) => (x - meanX) ** 2));
  if (points.length < 3 || spread === 0) return { value: 0, doubt: 0 };
  const value = sum(points.map(([x, y]) => (x - meanX) * (y - meanY))) / spread;
  const scatter = sum(points.map(([x, y]) => (y - meanY - value * (x - meanX)) ** 2)) / (points.length - 2);
  return { value, doubt: 2 * Math.sqrt(scatter / spread) };
}

const [WIDTH, HEIGHT, MARGIN] = [800, 160, 40];

/** Draws each series below the other, as SVG; each begins at zero. */
export function plot(series: readonly Series[]): string {
  const drawn = series.map((each, at) => draw(each, at * HEIGHT));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${series.length * HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
${drawn.join("\n")}
</svg>
`;
}

function draw({ name, unit, points, slope }: Series, top: number): string {
  const mostX = Math.max(1, ...points.map(([x]) => x));
  const mostY = Math.max(1, ...points.map(([, y]) => y));
  const bottom = top + HEIGHT - MARGIN / 2;
  const place = ([x, y]: readonly [number, number]): string =>
    `${(MARGIN + (x / mostX) * (WIDTH - 2 * MARGIN)).toFixed(1)},${(bottom - (y / mostY) * (HEIGHT - MARGIN)).toFixed(1)}`;
  return `<text x="${MARGIN}" y="${top + 14}">${name}, at most ${mostY.toFixed(1)} ${unit}; ${slope.value.toFixed(3)} ${unit} per 1000 turns</text>
<line x1="${MARGIN}" y1="${bottom}" x2="${WIDTH - MARGIN}" y2="${bottom}" stroke="gray"/>
<polyline fill="none" stroke="steelblue" points="${points.map(place).join(" ")}"/>`;
}
