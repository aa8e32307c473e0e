import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { PROBLEM_STATUS } from "../src/service/api/problems.ts";
import { FailureType } from "../src/service/api/runs.ts";
import { createMetrics } from "../src/service/http/metrics.ts";
import { SettingsSchema } from "../src/service/settings.ts";
import { table } from "./reference.ts";

/** Where the service's reference is kept. */
export const SERVICE_REFERENCE_PATH = new URL("../docs/service-reference.md", import.meta.url);
const OPENAPI_PATH = new URL("../openapi.service.json", import.meta.url);

const Operation = z.object({ summary: z.string().optional() });
const OpenApi = z.object({ paths: z.record(z.string(), z.record(z.string(), Operation)) });
const Metric = z.object({ name: z.string(), help: z.string(), type: z.string(), labelNames: z.array(z.string()) });

/** The reference of the agent service as the sources have it now: settings, routes, problems, failures, metrics. */
export function renderServiceReference(): string {
  return `${[
    "# Reference of the agent service",
    "Made from the source by `node scripts/service-reference.ts`; a test fails when it is stale. Shapes of bodies and answers: `openapi.service.json`, and `/docs` of a running service.",
    "## Settings",
    "All from the environment, checked once at the start. A bad value stops the service with its name, its value and what is allowed; values of secrets are not shown. An empty variable counts as not set. A variable `SERVICE_…` that is not in this table is logged at the start, with the nearest name that is.",
    table(["variable", "default", "meaning"], settingRows()),
    "## Routes",
    table(["route", "does"], routeRows()),
    "## Problems",
    'Why a call was refused: `detail.code` of the body. A body or query that does not validate is 422 with a list in `detail`, one entry per field: `{"loc","msg","type"}`.',
    table(
      ["code", "status"],
      Object.entries(PROBLEM_STATUS).map(([code, status]) => [`\`${code}\``, String(status)]),
    ),
    "## Failures",
    "Why a run did not complete: `error.type` of its result, `error_type` of its `error` event. Those of turnd are explained in [failures.md](failures.md).",
    FailureType.options.map((type) => `\`${type}\``).join(", "),
    "## Metrics",
    '`GET /metrics`, Prometheus text; besides these what `prom-client` tells of the process. With `SERVICE_METRICS_TOKEN` that token is needed as Bearer; without it only a service that listens on loopback answers, to this machine, and to nothing that a proxy passed on. Counters and histograms are of one process, values "in the whole cluster" come from the database and are the same from every process. A process of `worker` answers at `SERVICE_METRICS_PORT`. No label holds an id.',
    table(["metric", "type", "labels", "tells"], metricRows()),
  ].join("\n\n")}\n`;
}

function settingRows(): string[][] {
  return Object.entries(SettingsSchema.shape).map(([name, schema]) => {
    const fallback: unknown = schema.safeParse(undefined).data;
    const isNone = fallback === undefined || fallback === "" || (Array.isArray(fallback) && fallback.length === 0);
    const shown = isNone ? "–" : `\`${JSON.stringify(fallback).replaceAll(/[[\]"]/g, "")}\``;
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

if (import.meta.main) writeFileSync(SERVICE_REFERENCE_PATH, renderServiceReference());
