import { findSchema, type Document, type JsonSchema } from "./document.ts";
import { mapSchemas } from "./map-document.ts";

/**
 * Says in the description of a field what its default is, and takes the `default` itself out.
 *
 * Generators of clients make a field with a `default` one that is always there, also where a request may leave it out.
 * Parameters keep theirs.
 */
export function describeDefaults(document: Document): Document {
  const { schemas } = document.components;
  return mapSchemas(document, (schema): JsonSchema => {
    const { default: value, ...rest } = schema;
    if (value === undefined) return schema;
    const about =
      rest.description ?? (rest.$ref === undefined ? undefined : findSchema(rest.$ref, schemas)?.description);
    const shown = `Default: \`${typeof value === "string" && value !== "" ? value : JSON.stringify(value)}\`.`;
    return { ...rest, description: about === undefined ? shown : `${about} ${shown}` };
  });
}
