import { findSchema, type Discriminator, type Document, type Schemas } from "./document.ts";
import { mapSchemas } from "./map-document.ts";

/** Adds `discriminator` wherever every member of a `oneOf` is a component with another constant in the same field. */
export function addDiscriminators(document: Document): Document {
  const { schemas } = document.components;
  return mapSchemas(document, (schema) => {
    const refs = schema.oneOf?.map(({ $ref }) => $ref);
    if (refs === undefined || !refs.every((ref) => ref !== undefined)) return schema;
    const discriminator = findDiscriminator(refs, schemas);
    return discriminator === undefined ? schema : { ...schema, discriminator };
  });
}

function findDiscriminator(refs: readonly string[], schemas: Schemas): Discriminator | undefined {
  const [first, ...others] = refs.map((ref) => constantsOf(ref, schemas));
  for (const [propertyName, value] of first ?? []) {
    const values = [value, ...others.map((constants) => constants.get(propertyName))];
    if (values.every((each) => each !== undefined) && new Set(values).size === refs.length) {
      return { propertyName, mapping: Object.fromEntries(values.map((each, index) => [each, refs[index] ?? ""])) };
    }
  }
  return undefined;
}

/** Fields that are always there, with the one text that they have. */
function constantsOf(ref: string, schemas: Schemas): Map<string, string> {
  const { properties = {}, required = [] } = findSchema(ref, schemas) ?? {};
  return new Map(
    required.flatMap((name): [string, string][] => {
      const value = properties[name]?.const;
      return typeof value === "string" ? [[name, value]] : [];
    }),
  );
}
