import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { renderServiceReference, SERVICE_REFERENCE_PATH } from "../../scripts/generate/service-reference.ts";
import { SettingsSchema } from "../../src/service/settings/settings.ts";
import { describeUnknownSettings } from "../../src/service/settings/unknown.ts";

test("docs/service-reference.md is that of the source; `node scripts/generate/service-reference.ts` makes it anew", () => {
  expect(readFileSync(SERVICE_REFERENCE_PATH, "utf8")).toBe(renderServiceReference());
});

test("every setting has a meaning and stands in the reference", () => {
  const text = renderServiceReference();
  for (const [name, schema] of Object.entries(SettingsSchema.shape)) {
    expect(text).toContain(`| \`${name}\` |`);
    expect([name, (schema.meta()?.description ?? "").length > 5]).toEqual([name, true]);
  }
});

test("a variable that is no setting is named with the nearest one, never with its value", () => {
  expect(
    describeUnknownSettings({
      SERVICE_PORT: "1",
      SERVICE_PROT: "my-secret-value",
      SERVICE_JWT_SECRETS: "my-secret-value",
      SERVICE_METRIC_TOKEN: "my-secret-value",
      SERVICE_WHATEVER_ELSE_THERE_IS: "x",
      PATH: "/bin",
    }),
  ).toEqual([
    "SERVICE_JWT_SECRETS is no setting of the service and is ignored; did you mean SERVICE_JWT_SECRET?",
    "SERVICE_METRIC_TOKEN is no setting of the service and is ignored; did you mean SERVICE_METRICS_TOKEN?",
    "SERVICE_PROT is no setting of the service and is ignored; did you mean SERVICE_PORT?",
    "SERVICE_WHATEVER_ELSE_THERE_IS is no setting of the service and is ignored",
  ]);
});
