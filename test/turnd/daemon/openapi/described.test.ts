import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Document, type JsonSchema } from "../../../../src/kit/http/openapi/document.ts";
import { FIELD_WORDS } from "../../../../src/service/http/describe/field-words.ts";
import { SCHEMA_WORDS } from "../../../../src/service/http/describe/schema-words.ts";

/** Every property of a schema, those of objects inside of it too, with the path to it. */
function propertiesOf(schema: JsonSchema, path: readonly string[]): { path: string; schema: JsonSchema }[] {
  const { properties = {}, items, additionalProperties: rest, anyOf = [], oneOf = [] } = schema;
  const inner = [items, typeof rest === "object" ? rest : undefined, ...anyOf, ...oneOf];
  return [
    ...Object.entries(properties).flatMap(([name, each]) => [
      { path: [...path, name].join("."), schema: each },
      ...propertiesOf(each, [...path, name]),
    ]),
    ...inner.flatMap((each) => (each === undefined ? [] : propertiesOf(each, path))),
  ];
}

function read(name: string): Readonly<Record<string, JsonSchema>> {
  return Document.parse(JSON.parse(readFileSync(name, "utf8"))).components.schemas;
}

describe.each(["openapi.json", "openapi.service.json"])("%s", (name) => {
  test("every component, and every property of one, says what it means", () => {
    const schemas = Object.entries(read(name));
    expect(schemas.length).toBeGreaterThan(50);
    expect(schemas.flatMap(([id, { description }]) => (description === undefined ? [id] : []))).toEqual([]);
    const silent = schemas
      .flatMap(([id, schema]) => propertiesOf(schema, [id]))
      .filter(({ schema: { $ref, description } }) => $ref === undefined && (description ?? "") === "");
    expect(silent.map(({ path }) => path)).toEqual([]);
  });
});

test("no word of the service's tables describes what there is none of", () => {
  const schemas = read("openapi.service.json");
  const paths = Object.entries(schemas).flatMap(([id, schema]) => propertiesOf(schema, [id]));
  const isUsed = (word: string): boolean => {
    const [last = "", parent] = word.split(".").toReversed();
    return paths.some(({ path, schema: { description } }) => {
      const names = path.split(".");
      const isOfParent = parent === undefined || names.slice(0, -1).includes(parent);
      // A default is added behind it.
      return names.at(-1) === last && isOfParent && description?.startsWith(FIELD_WORDS[word] ?? word);
    });
  };
  expect(Object.keys(FIELD_WORDS).filter((word) => !isUsed(word))).toEqual([]);
  expect(Object.keys(SCHEMA_WORDS).filter((id) => schemas[id]?.description !== SCHEMA_WORDS[id])).toEqual([]);
});
