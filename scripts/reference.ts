import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { EXECUTORS } from "../src/daemon/executors/registry.ts";
import { CHECKS } from "../src/daemon/doctor/checks.ts";
import { createMetrics } from "../src/daemon/http/metrics.ts";
import { SettingsSchema } from "../src/daemon/settings.ts";
import { FAILURE_ADVICE, LoggedEvent, PROBLEM_STATUS, WARNINGS } from "../src/protocol/index.ts";
import { OPENAPI_PATH } from "./openapi.ts";

/** Where the reference is kept. */
export const REFERENCE_PATH = new URL("../docs/reference.md", import.meta.url);

const Operation = z.object({ summary: z.string().optional() });
const OpenApi = z.object({ paths: z.record(z.string(), z.record(z.string(), Operation)) });
const Metric = z.object({
  name: z.string(),
  help: z.string(),
  type: z.string(),
  labelNames: z.array(z.string()),
});
const JsonSchema = z.looseObject({
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  const: z.unknown().optional(),
  $ref: z.string().optional(),
});

/** The reference as the sources have it now: settings, routes, events, warnings, failures, problems, metrics, checks. */
export function renderReference(): string {
  return `${[
    "# Reference",
    "Made from the source by `node scripts/reference.ts`; a test fails when it is stale. Shapes of bodies: `openapi.json`.",
    "## Settings",
    "All from the environment, checked once at the start. A bad value stops turnd with its name, its value and what is allowed. An empty variable counts as not set.",
    table(["variable", "default", "meaning"], settingRows()),
    "### Configuration of the CLIs",
    table(
      ["variable", "meaning"],
      EXECUTORS.flatMap(({ variables }) => variables.map(({ name, meaning }) => [`\`${name}\``, meaning])),
    ),
    "## Routes",
    table(["route", "does"], routeRows()),
    "## Events",
    "One JSON line each; `v`, `seq`, `at`, `turn_id`, `session_id`, `executor` and `type` in every one, `native` where it comes from a line of the CLI's. `?` marks what may be absent.",
    table(["type", "data"], eventRows()),
    "## Warnings",
    "What a turn got over: `data.code` of a `warning`.",
    table(
      ["code", "tells that"],
      Object.entries(WARNINGS).map(([code, meaning]) => [`\`${code}\``, meaning]),
    ),
    "## Failures",
    "Why a turn did not complete: `failure.code` of its result. [failures.md](failures.md) has the rules that decide.",
    table(
      ["code", "because", "retryable", "user_action"],
      Object.entries(FAILURE_ADVICE).map(([code, advice]) => [
        `\`${code}\``,
        advice.meaning,
        advice.retryable ? "yes" : "no",
        `\`${advice.userAction}\``,
      ]),
    ),
    "## Problems",
    "Why a request was refused: `detail.code` of the body.",
    table(
      ["code", "status"],
      Object.entries(PROBLEM_STATUS).map(([code, status]) => [`\`${code}\``, String(status)]),
    ),
    "## Metrics",
    "`GET /metrics`, Prometheus text, with the token as everything else; besides these what `prom-client` tells of the process. No label holds an id.",
    table(["metric", "type", "labels", "tells"], metricRows()),
    "## Checks",
    "What `turnd doctor` looks at, after the settings; docs/doctor.md says how to read it.",
    table(
      ["check", "looks at"],
      CHECKS.map(({ name, about }) => [`\`${name}\``, about]),
    ),
  ].join("\n\n")}\n`;
}

function settingRows(): string[][] {
  return Object.entries(SettingsSchema.shape).map(([name, schema]) => {
    const fallback: unknown = schema.safeParse(undefined).data;
    const shown =
      fallback === undefined || fallback === "" ? "–" : `\`${JSON.stringify(fallback).replaceAll('"', "")}\``;
    return [`\`${name}\``, shown, schema.meta()?.description ?? ""];
  });
}

function routeRows(): string[][] {
  const { paths } = OpenApi.parse(JSON.parse(readFileSync(OPENAPI_PATH, "utf8")));
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { summary }]) => [`\`${method.toUpperCase()} ${path}\``, summary ?? ""]),
  );
}

function metricRows(): string[][] {
  return createMetrics()
    .registry.getMetricsAsArray()
    .map((metric) => {
      const { name, help, type, labelNames } = Metric.parse(metric);
      return [`\`${name}\``, type, labelNames.map((label) => `\`${label}\``).join(" "), help];
    });
}

function eventRows(): string[][] {
  const schema = z.toJSONSchema(LoggedEvent, { reused: "inline" });
  const members = resolve(schema, schema);
  return (members.oneOf ?? members.anyOf ?? []).map((member) => {
    const { properties = {} } = JsonSchema.parse(member);
    const type = JsonSchema.parse(properties["type"]).const;
    const data = resolve(properties["data"], schema);
    const required = new Set(data.required);
    const fields = Object.keys(data.properties ?? {}).map((name) => (required.has(name) ? name : `${name}?`));
    return [`\`${String(type)}\``, fields.map((field) => `\`${field}\``).join(" ")];
  });
}

function resolve(part: unknown, root: unknown): z.infer<typeof JsonSchema> {
  const parsed = JsonSchema.parse(part);
  const name = parsed.$ref?.split("/").at(-1);
  if (name === undefined) return parsed;
  const { $defs } = z.looseObject({ $defs: z.record(z.string(), z.unknown()) }).parse(root);
  return JsonSchema.parse($defs[name]);
}

/** A table of Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

if (import.meta.main) writeFileSync(REFERENCE_PATH, renderReference());
