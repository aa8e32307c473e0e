import { writeFileSync } from "node:fs";
import { PROBLEM_STATUS } from "../../src/service/protocol/problems.ts";
import { FailureType } from "../../src/service/protocol/runs.ts";
import { createMetrics } from "../../src/service/http/metrics.ts";
import { SettingsSchema } from "../../src/service/settings/settings.ts";
import { joinBlocks, metricTable, problemTable, routeTable, settingTable } from "./reference-tables.ts";

/** Where the service's reference is kept. */
export const SERVICE_REFERENCE_PATH = new URL("../../docs/service-reference.md", import.meta.url);
const OPENAPI_PATH = new URL("../../openapi.service.json", import.meta.url);

/** The reference of the agent service as the sources have it now: settings, routes, problems, failures, metrics. */
export function renderServiceReference(): string {
  return joinBlocks([
    "# Reference of the agent service",
    "Made from the source by `npm exec -- node scripts/generate/service-reference.ts`; a test fails when it is stale. Shapes of bodies and answers: `openapi.service.json`, and `/docs` of a running service.",
    "## Settings",
    "All from the environment, checked once at the start. A bad value stops the service with its name, its value and what is allowed; values of secrets are not shown. An empty variable counts as not set. A variable `SERVICE_…` that is not in this table is logged at the start, with the nearest name that is.",
    settingTable(SettingsSchema),
    "## Routes",
    routeTable(OPENAPI_PATH),
    "## Problems",
    'Why a call was refused: `detail.code` of the body. A body or query that does not validate is 422 with a list in `detail`, one entry per field: `{"loc","msg","type"}`.',
    problemTable(PROBLEM_STATUS),
    "## Failures",
    "Why a run did not complete: `error.type` of its result, `error_type` of its `error` event. Those of turnd are explained in [failures.md](failures.md).",
    FailureType.options.map((type) => `\`${type}\``).join(", "),
    "## Metrics",
    '`GET /metrics`, Prometheus text; besides these the process metrics of `prom-client`. With `SERVICE_METRICS_TOKEN` that token is needed as Bearer; without it only a service that listens on loopback answers, to this machine, and to nothing that a proxy passed on. Counters and histograms are of one process, values "in the whole cluster" come from the database and are the same from every process. A process of `worker` answers at `SERVICE_METRICS_PORT`. No label holds an id.',
    metricTable(createMetrics().registry),
  ]);
}

if (import.meta.main) writeFileSync(SERVICE_REFERENCE_PATH, renderServiceReference());
