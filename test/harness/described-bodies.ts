import { readFileSync } from "node:fs";
import { z } from "zod";
import { OPENAPI_PATH } from "../../scripts/generate/openapi.ts";
import { Document, type JsonSchema, type Media } from "../../src/kit/http/openapi/document.ts";
import * as protocol from "../../src/turnd/protocol/index.ts";

/** turnd's own description, as it is committed. */
export const DESCRIPTION = Document.parse(JSON.parse(readFileSync(OPENAPI_PATH, "utf8")));

/** The examples that operations refer to, by their names. */
export const SHARED_EXAMPLES = z
  .record(z.string(), z.object({ value: z.unknown() }))
  .parse(DESCRIPTION.components["examples"]);

/** Every operation, with its method and path as `route`. */
export const OPERATIONS = Object.entries(DESCRIPTION.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, ...operation })),
);

/** The schemas of `src/turnd/protocol` by the names of their components. */
const SCHEMAS = new Map<string, z.ZodType>(
  Object.values(protocol).flatMap((value) => {
    const id = value instanceof z.ZodType ? z.globalRegistry.get(value)?.id : undefined;
    return id === undefined || !(value instanceof z.ZodType) ? [] : [[id, value]];
  }),
);

/** The schema of `src/turnd/protocol` that a body is described by. */
export function schemaOf({ $ref, anyOf }: JsonSchema): z.ZodType {
  if (anyOf !== undefined) return z.union(anyOf.map(schemaOf));
  const name = $ref?.split("/").at(-1) ?? "";
  const found = SCHEMAS.get(name);
  if (found === undefined) throw new Error(`src/turnd/protocol has no schema of the id ${name}`);
  return found;
}

/** The examples of a body, those of the components included. */
export function examplesOf(media: Media): unknown[] {
  if (media.example !== undefined) return [media.example];
  const references = z.record(z.string(), z.object({ $ref: z.string() })).parse(media.examples ?? {});
  return Object.values(references).map(({ $ref }) => {
    const found = SHARED_EXAMPLES[$ref.slice("#/components/examples/".length)];
    if (found === undefined) throw new Error(`there is no ${$ref}`);
    return found.value;
  });
}
