import type { Content, Document, JsonSchema, Media, Operation } from "./document.ts";

/** Changes a schema and every schema written inside of it, the inner ones first; what it refers to is left as it is. */
export function mapSchema(schema: JsonSchema, change: (schema: JsonSchema) => JsonSchema): JsonSchema {
  const inner = (each: JsonSchema): JsonSchema => mapSchema(each, change);
  const { properties, items, additionalProperties: rest, anyOf, oneOf } = schema;
  return change({
    ...schema,
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, inner(each)])) }),
    ...(items === undefined ? {} : { items: inner(items) }),
    ...(typeof rest === "object" ? { additionalProperties: inner(rest) } : {}),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(inner) }),
    ...(oneOf === undefined ? {} : { oneOf: oneOf.map(inner) }),
  });
}

/** Changes every schema of the components, of the bodies and of the answers. Parameters stay as they are. */
export function mapSchemas(document: Document, change: (schema: JsonSchema) => JsonSchema): Document {
  const each = (schema: JsonSchema): JsonSchema => mapSchema(schema, change);
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => [name, each(schema)] as const);
  return {
    ...mapMedia(document, (media) => (media.schema === undefined ? media : { ...media, schema: each(media.schema) })),
    components: { ...document.components, schemas: Object.fromEntries(schemas) },
  };
}

function mapMedia(document: Document, change: (media: Media) => Media): Document {
  const inContent = (content: Content): Content =>
    Object.fromEntries(Object.entries(content).map(([type, media]) => [type, change(media)]));
  return mapOperations(document, (operation) => {
    const { requestBody, responses } = operation;
    const answers = Object.entries(responses).map(([status, response]) => {
      const { content } = response;
      return [status, content === undefined ? response : { ...response, content: inContent(content) }] as const;
    });
    return {
      ...operation,
      ...(requestBody === undefined
        ? {}
        : { requestBody: { ...requestBody, content: inContent(requestBody.content) } }),
      responses: Object.fromEntries(answers),
    };
  });
}

/** Changes every operation; `route` is its method and its path. */
export function mapOperations(
  document: Document,
  change: (operation: Operation, route: string) => Operation,
): Document {
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const changed = Object.entries(operations).map(
      ([method, operation]) => [method, change(operation, `${method.toUpperCase()} ${path}`)] as const,
    );
    return [path, Object.fromEntries(changed)] as const;
  });
  return { ...document, paths: Object.fromEntries(paths) };
}
