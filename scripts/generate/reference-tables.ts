import { readFileSync } from "node:fs";
import type { Registry } from "prom-client";
import { z } from "zod";

const Operation = z.object({ summary: z.string().optional() });
const OpenApi = z.object({ paths: z.record(z.string(), z.record(z.string(), Operation)) });
const Metric = z.object({ name: z.string(), help: z.string(), type: z.string(), labelNames: z.array(z.string()) });

/** A table of Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Blocks of Markdown as one document; lines of prose end at 120 characters. */
export function joinBlocks(blocks: readonly string[]): string {
  return `${blocks
    .join("\n\n")
    .split("\n")
    .map((line) => (line.startsWith("|") || line.startsWith("#") ? line : wrap(line)))
    .join("\n")}\n`;
}

function wrap(line: string): string {
  const lines: string[] = [];
  for (const word of line.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > 120) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.join("\n");
}

/** The settings of a schema: name, default, description. */
export function settingTable({ shape }: z.ZodObject): string {
  const rows = Object.entries(shape).map(([name, schema]) => {
    const fallback: unknown = z.safeParse(schema, undefined).data;
    const isNone = fallback === undefined || fallback === "" || (Array.isArray(fallback) && fallback.length === 0);
    const shown = isNone ? "–" : `\`${JSON.stringify(fallback).replaceAll(/[[\]"]/g, "")}\``;
    return [`\`${name}\``, shown, z.globalRegistry.get(schema)?.description ?? ""];
  });
  return table(["variable", "default", "meaning"], rows);
}

/** The routes of an OpenAPI document with their summaries. */
export function routeTable(openApiPath: URL): string {
  const { paths } = OpenApi.parse(JSON.parse(readFileSync(openApiPath, "utf8")));
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { summary }]) => [`\`${method.toUpperCase()} ${path}\``, summary ?? ""]),
  );
  return table(["route", "does"], rows);
}

/** The codes of problems and their statuses. */
export function problemTable(statuses: Readonly<Record<string, number>>): string {
  return table(
    ["code", "status"],
    Object.entries(statuses).map(([code, status]) => [`\`${code}\``, String(status)]),
  );
}

/** The metrics of a registry: name, type, labels, meaning. */
export function metricTable(registry: Registry): string {
  const rows = registry.getMetricsAsArray().map((metric) => {
    const { name, help, type, labelNames } = Metric.parse(metric);
    return [`\`${name}\``, type, labelNames.map((label) => `\`${label}\``).join(" "), help];
  });
  return table(["metric", "type", "labels", "meaning"], rows);
}
