import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { addProcessMetrics, createMetrics } from "../../src/turnd/daemon/http/routes/metrics.ts";

const Panel = z.looseObject({
  id: z.int(),
  type: z.string(),
  title: z.string().min(1),
  gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
  targets: z.array(z.looseObject({ expr: z.string().min(1), legendFormat: z.string() })).default([]),
});
const Dashboard = z.looseObject({
  panels: z.array(Panel),
  templating: z.looseObject({
    list: z.array(z.looseObject({ name: z.string(), query: z.union([z.string(), z.object({ query: z.string() })]) })),
  }),
});

/** What of the query language the dashboard may use; another word is taken for a metric, and fails. */
const WORDS = new Set(["sum", "by", "rate", "increase", "changes", "histogram_quantile", "label_values"]);
/** Labels that Prometheus adds to whatever it reads. */
const SCRAPED = ["job", "instance"];

const dashboard = Dashboard.parse(JSON.parse(readFileSync("sandbox/deploy/grafana-turnd.json", "utf8")));
const panels = dashboard.panels.filter(({ type }) => type !== "row");
/** The labels of each series of `/metrics`. */
const series = new Map<string, Set<string>>();

beforeAll(async () => {
  const metrics = createMetrics();
  await addProcessMetrics(metrics);
  const { observer, registry, countSent } = metrics;
  // A series with labels is there when something has been counted.
  observer.eventsWritten("cli-b", 1);
  observer.firstEvent("cli-b", 1);
  const end = { executor: "cli-b", status: "failed", code: "crashed", durationMs: 1, cliVersion: "1.0.0" } as const;
  const usage = {
    input_tokens: 1,
    cached_input_tokens: 1,
    cache_write_tokens: 1,
    output_tokens: 1,
    reasoning_tokens: 1,
  };
  observer.turnEnded({ ...end, unknownRecords: 1, usage });
  countSent("live", 1);
  for (const line of (await registry.metrics()).split("\n")) {
    const [, name, labels = ""] = /^([a-z_\d]+)(?:\{(.*)\})? /i.exec(line) ?? [];
    if (name === undefined) continue;
    const known = series.get(name) ?? new Set(SCRAPED);
    for (const [, label = ""] of labels.matchAll(/([a-z_]+)="/g)) known.add(label);
    series.set(name, known);
  }
});

interface Query {
  readonly metrics: readonly string[];
  /** Labels that it selects or groups by, of every metric in it. */
  readonly labels: readonly string[];
}

function readQuery(expr: string): Query {
  const labels = [
    ...[...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, inside = ""]) =>
      [...inside.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)].map(([, label = ""]) => label),
    ),
    ...[...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, inside = ""]) => inside.split(/,\s*/)),
    ...[...expr.matchAll(/^label_values\(.*, ([a-z_]+)\)$/g)].map(([, label = ""]) => label),
  ];
  const bare = expr
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)/g, " ")
    .replace(/^(label_values\(.*), [a-z_]+\)$/, "$1)");
  const metrics = [...bare.matchAll(/[a-z_][a-z_\d]*/gi)].map(([word]) => word).filter((word) => !WORDS.has(word));
  return { metrics, labels };
}

function faultsOf(expr: string): string[] {
  const { metrics, labels } = readQuery(expr);
  if (metrics.length === 0) return ["no metric"];
  return metrics.flatMap((metric) => {
    const known = series.get(metric);
    if (known === undefined) return [`no metric ${metric}`];
    return labels.filter((label) => !known.has(label)).map((label) => `${metric} has no label ${label}`);
  });
}

test("every metric of the dashboard is in /metrics, with the labels it is asked by", () => {
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  expect(queries.length).toBeGreaterThan(15);
  expect(queries.flatMap((expr) => faultsOf(expr).map((fault) => `${fault}: ${expr}`))).toEqual([]);
  const variables = dashboard.templating.list.filter(({ name }) => name !== "datasource");
  const lookups = variables.map(({ query }) => (typeof query === "string" ? query : query.query));
  expect(lookups.flatMap(faultsOf)).toEqual([]);
});

test("a metric or label that is not there is found", () => {
  expect(faultsOf('sum by (executor) (rate(turnd_turns{job=~"$job"}[$__rate_interval]))')).toEqual([
    "no metric turnd_turns",
  ]);
  expect(faultsOf('sum(turnd_turns_total{state="failed"})')).toEqual(["turnd_turns_total has no label state"]);
  expect(faultsOf("sum by (kind) (turnd_turns_running)")).toEqual(["turnd_turns_running has no label kind"]);
  expect(faultsOf("label_values(turnd_turns_running, le)")).toEqual(["turnd_turns_running has no label le"]);
  expect(faultsOf("sum(rate(turnd_turn_duration_seconds[5m]))")).toEqual(["no metric turnd_turn_duration_seconds"]);
});

test("every metric of turnd's own is on the dashboard", () => {
  const shown = new Set(panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => readQuery(expr).metrics)));
  const own = [...series.keys()].filter((name) => name.startsWith("turnd_") && !/_(sum|count)$/.test(name));
  expect(own.length).toBeGreaterThan(10);
  expect(own.filter((name) => !shown.has(name))).toEqual([]);
});

test("a legend names labels that its query groups by", () => {
  const faults = panels.flatMap(({ title, targets }) =>
    targets.flatMap(({ expr, legendFormat }) => {
      const { labels } = readQuery(expr);
      const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
      return named.filter((label) => !labels.includes(label)).map((label) => `${title}: ${label}`);
    }),
  );
  expect(faults).toEqual([]);
});

test("panels have ids of their own and do not overlap", () => {
  const all = dashboard.panels;
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  const cells = all.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(all.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
});
