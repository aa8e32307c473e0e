import type { Document, JsonSchema } from "../../../kit/http/openapi/document.ts";
import { FIELD_WORDS } from "./field-words.ts";
import { SCHEMA_WORDS } from "./schema-words.ts";

/** Gives every component, and every property of one, its meaning: of its schema, or of the tables of this folder. */
export function describeFields(document: Document): Document {
  const schemas = Object.entries(document.components.schemas).map(([id, schema]) => {
    const description = schema.description ?? SCHEMA_WORDS[id];
    const described = describeProperties(schema, [id]);
    return [id, description === undefined ? described : { ...described, description }] as const;
  });
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas) } };
}

/** @param parents - the property that holds the object, and what holds that, up to the component */
function describeProperties(schema: JsonSchema, parents: readonly string[]): JsonSchema {
  const inside = (each: JsonSchema): JsonSchema => describeProperties(each, parents);
  const { properties, items, additionalProperties: rest, anyOf, oneOf } = schema;
  return {
    ...schema,
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, each]) => [name, describeProperty(name, each, parents)]),
          ),
        }),
    ...(items === undefined ? {} : { items: inside(items) }),
    ...(typeof rest === "object" ? { additionalProperties: inside(rest) } : {}),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(inside) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(inside) }),
  };
}

function describeProperty(name: string, schema: JsonSchema, parents: readonly string[]): JsonSchema {
  const described = describeProperties(schema, [name, ...parents]);
  // What a reference leads to has a description of its own.
  if (described.$ref !== undefined || described.description !== undefined) return described;
  const key = parents.map((parent) => `${parent}.${name}`).find((each) => each in FIELD_WORDS) ?? name;
  const description = FIELD_WORDS[key];
  return description === undefined ? described : { ...described, description };
}
