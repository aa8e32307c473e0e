import { writeFileSync } from "node:fs";
import { z } from "zod";
import { placeVariables } from "../../src/turnd/daemon/serve/configurations.ts";
import { EXECUTORS } from "../../src/turnd/daemon/executors/registry.ts";
import { listChecks } from "../../src/turnd/daemon/doctor/list-checks.ts";
import { createMetrics } from "../../src/turnd/daemon/http/routes/metrics.ts";
import { NETWORK_VARIABLES } from "../../src/turnd/daemon/passed-variables.ts";
import { SettingsSchema } from "../../src/turnd/daemon/settings-schema.ts";
import { OTEL_VARIABLES } from "../../src/turnd/daemon/tracing/otel-variables.ts";
import { FAILURE_ADVICE, LoggedEvent, PROBLEM_STATUS, WARNINGS } from "../../src/turnd/protocol/index.ts";
import { OPENAPI_PATH } from "./openapi.ts";
import { bodyFields, eventFields } from "./reference-fields.ts";
import { joinBlocks, metricTable, problemTable, routeTable, settingTable, table } from "./reference-tables.ts";

/** Where the reference is kept. */
export const REFERENCE_PATH = new URL("../../docs/reference.md", import.meta.url);

const JsonSchema = z.looseObject({
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  const: z.unknown().optional(),
  description: z.string().optional(),
  $ref: z.string().optional(),
});

/** The reference as the sources have it now: settings, routes, events, warnings, failures, problems, metrics, checks. */
export function renderReference(): string {
  return joinBlocks([
    "# Reference",
    "Made from the source by `npm exec -- node scripts/generate/reference.ts`; a test fails when it is stale. Shapes of bodies: `openapi.json`.",
    "## Settings",
    "All from the environment, checked once at the start. A bad value stops turnd with its name, its value and what is allowed. An empty variable counts as not set.",
    settingTable(SettingsSchema.extend(placeVariables(EXECUTORS).shape)),
    "### Configuration of the CLIs",
    table(
      ["variable", "meaning"],
      EXECUTORS.flatMap(({ variables }) => variables.map(({ name, meaning }) => [`\`${name}\``, meaning])),
    ),
    "### Variables that are passed on",
    "What a CLI and a person's shell get of turnd's environment besides `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `TERM` and `TMPDIR`; a CLI gets its configuration and what `TURND_PASS_ENV` names too. A variable that is kept from them is named in a warning at the start and by `turnd doctor`, unless `TURND_PASS_ENV` names it. What is in neither list is not passed.",
    table(
      ["variable", "about", "passed", "meaning"],
      NETWORK_VARIABLES.map(({ name, about, isPassed, meaning }) => [
        `\`${name}\``,
        about,
        isPassed ? "yes" : "no",
        meaning,
      ]),
    ),
    "### Spans",
    "Standard variables of OpenTelemetry ([observability.md](observability.md)). Each `OTEL_EXPORTER_OTLP_…` has a form only for traces, such as `OTEL_EXPORTER_OTLP_TRACES_HEADERS`, which goes before it. They are not passed to the CLIs.",
    table(
      ["variable", "meaning"],
      Object.entries(OTEL_VARIABLES).map(([name, meaning]) => [`\`${name}\``, meaning]),
    ),
    "## Routes",
    routeTable(OPENAPI_PATH),
    "## Events",
    "One JSON line each; `v`, `seq`, `at`, `turn_id`, `session_id`, `executor` and `type` in every one, `native` where it comes from a line of the CLI's. `?` marks what may be absent.",
    table(["type", "tells that", "data"], eventRows()),
    "### Fields of events",
    ...eventFields(OPENAPI_PATH),
    "## Warnings",
    "What a turn got over: `data.code` of a `warning`.",
    table(
      ["code", "meaning"],
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
    "## Bodies",
    "What requests and answers hold. `?` marks what may be absent, `[]` the entries of a list, `{}` those of a table.",
    ...bodyFields(OPENAPI_PATH),
    "## Problems",
    "Why a request was refused: `detail.code` of the body.",
    problemTable(PROBLEM_STATUS),
    "## Metrics",
    "`GET /metrics`, Prometheus text, with the token as everything else; besides these the process metrics of `prom-client`. No label holds an id.",
    metricTable(createMetrics().registry),
    "## Checks",
    "What `turnd doctor` looks at, after the settings; docs/doctor.md says how to read it.",
    table(
      ["check", "looks at"],
      listChecks(EXECUTORS).map(({ name, about }) => [`\`${name}\``, about]),
    ),
  ]);
}

function eventRows(): string[][] {
  const schema = z.toJSONSchema(LoggedEvent, { reused: "inline" });
  const members = resolve(schema, schema);
  return (members.oneOf ?? members.anyOf ?? []).map((member) => {
    const { properties = {}, description = "" } = resolve(member, schema);
    const type = JsonSchema.parse(properties["type"]).const;
    const data = resolve(properties["data"], schema);
    const required = new Set(data.required);
    const fields = Object.keys(data.properties ?? {}).map((name) => (required.has(name) ? name : `${name}?`));
    return [`\`${String(type)}\``, description, fields.map((field) => `\`${field}\``).join(" ")];
  });
}

function resolve(part: unknown, root: unknown): z.infer<typeof JsonSchema> {
  const parsed = JsonSchema.parse(part);
  const name = parsed.$ref?.split("/").at(-1);
  if (name === undefined) return parsed;
  const { $defs } = z.looseObject({ $defs: z.record(z.string(), z.unknown()) }).parse(root);
  return JsonSchema.parse($defs[name]);
}

if (import.meta.main) writeFileSync(REFERENCE_PATH, renderReference());
