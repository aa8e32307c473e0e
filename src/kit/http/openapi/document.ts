import { z } from "zod";

/** Which property tells the members of a `oneOf` apart, and the member of each of its values. */
export interface Discriminator {
  readonly propertyName: string;
  readonly mapping: Readonly<Record<string, string>>;
}

/** A JSON schema, as far as the description of the API uses one. */
export interface JsonSchema {
  readonly $ref?: string | undefined;
  readonly description?: string | undefined;
  readonly type?: string | readonly string[] | undefined;
  readonly format?: string | undefined;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: JsonSchema | undefined;
  readonly additionalProperties?: JsonSchema | boolean | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: readonly JsonSchema[] | undefined;
  readonly oneOf?: readonly JsonSchema[] | undefined;
  readonly discriminator?: Discriminator | undefined;
  readonly examples?: readonly unknown[] | undefined;
  readonly minLength?: number | undefined;
  readonly minimum?: number | undefined;
}

export type Schemas = Readonly<Record<string, JsonSchema>>;

const JsonSchema: z.ZodType<JsonSchema> = z.lazy(() =>
  z.looseObject({
    $ref: z.string().optional(),
    description: z.string().optional(),
    type: z.union([z.string(), z.array(z.string())]).optional(),
    format: z.string().optional(),
    properties: z.record(z.string(), JsonSchema).optional(),
    required: z.array(z.string()).optional(),
    items: JsonSchema.optional(),
    additionalProperties: z.union([z.boolean(), JsonSchema]).optional(),
    enum: z.array(z.unknown()).optional(),
    const: z.unknown().optional(),
    default: z.unknown().optional(),
    anyOf: z.array(JsonSchema).optional(),
    oneOf: z.array(JsonSchema).optional(),
    discriminator: z.object({ propertyName: z.string(), mapping: z.record(z.string(), z.string()) }).optional(),
    examples: z.array(z.unknown()).optional(),
    minLength: z.number().optional(),
    minimum: z.number().optional(),
  }),
);

const Media = z.looseObject({
  schema: JsonSchema.optional(),
  example: z.unknown().optional(),
  examples: z.record(z.string(), z.unknown()).optional(),
});
export type Media = z.infer<typeof Media>;
const Content = z.record(z.string(), Media);
export type Content = z.infer<typeof Content>;
const Response = z.looseObject({ description: z.string(), content: Content.optional() });

/** One operation of the description. */
export const Operation = z.looseObject({
  operationId: z.string().optional(),
  tags: z.array(z.string()).optional(),
  summary: z.string().optional(),
  description: z.string().optional(),
  security: z.array(z.unknown()).optional(),
  parameters: z.array(z.unknown()).optional(),
  requestBody: z.looseObject({ content: Content }).optional(),
  responses: z.record(z.string(), Response),
});
export type Operation = z.infer<typeof Operation>;

/** The description, as far as it is worked on after the routes have made it. */
export const Document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.looseObject({ schemas: z.record(z.string(), JsonSchema) }),
});
export type Document = z.infer<typeof Document>;

/** Where a document keeps its schemas. */
export const SCHEMAS = "#/components/schemas/";

/** The schema that a reference leads to. */
export function findSchema($ref: string, schemas: Schemas): JsonSchema | undefined {
  return schemas[$ref.slice(SCHEMAS.length)];
}
