/** Values over the number of turns, and the line that fits them. */
export interface Series {
  readonly name: string;
  readonly unit: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  /** Per thousand turns. */
  readonly slope: number;
  readonly bound: number;
}

/** The slope of the line with the least squared distance to some points; 0 for fewer than two. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  if (points.length < 2 || spread === 0) return 0;
  return points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
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
  return `<text x="${MARGIN}" y="${top + 14}">${name}, at most ${mostY.toFixed(1)} ${unit}; ${slope.toFixed(3)} ${unit} per 1000 turns</text>
<line x1="${MARGIN}" y1="${bottom}" x2="${WIDTH - MARGIN}" y2="${bottom}" stroke="gray"/>
<polyline fill="none" stroke="steelblue" points="${points.map(place).join(" ")}"/>`;
}
