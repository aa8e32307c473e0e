import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { OPENAPI_PATH } from "../../../../scripts/generate/openapi.ts";

const Json = z.record(z.string(), z.unknown());
const Document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ parameters: z.array(Json).optional() }))),
  components: z.looseObject({ schemas: z.record(z.string(), Json) }),
});
const { paths, components } = Document.parse(JSON.parse(readFileSync(OPENAPI_PATH, "utf8")));
const MIN_LENGTH = 5;

function isDescribed(schema: unknown): boolean {
  const { description, $ref } = Json.parse(schema);
  if (typeof description === "string") return description.length >= MIN_LENGTH;
  return typeof $ref === "string" && isDescribed(components.schemas[$ref.split("/").at(-1) ?? ""]);
}

/** Paths of the properties below a schema that nothing explains. */
function findUnexplained(schema: unknown, path: string): string[] {
  if (Array.isArray(schema)) return schema.flatMap((each, index) => findUnexplained(each, `${path}|${index}`));
  const parsed = Json.safeParse(schema);
  if (!parsed.success) return [];
  return Object.entries(parsed.data).flatMap(([key, value]) => {
    if (key !== "properties") return findUnexplained(value, key === "items" ? `${path}[]` : path);
    return Object.entries(Json.parse(value)).flatMap(([name, property]) => [
      ...(isDescribed(property) ? [] : [`${path}.${name}`]),
      ...findUnexplained(property, `${path}.${name}`),
    ]);
  });
}

test("every schema of the API and every property of one says what it means", () => {
  const unexplained = Object.entries(components.schemas).flatMap(([name, schema]) => [
    ...(isDescribed(schema) ? [] : [name]),
    ...findUnexplained(schema, name),
  ]);
  expect(unexplained).toEqual([]);
  expect(Object.keys(components.schemas).length).toBeGreaterThan(60);
});

test("every parameter says what it means", () => {
  const unexplained = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { parameters = [] }]) =>
      parameters
        .filter((each) => !isDescribed(each) && !isDescribed(each["schema"]))
        .map((each) => `${method} ${path}: ${String(each["name"])}`),
    ),
  );
  expect(unexplained).toEqual([]);
});
