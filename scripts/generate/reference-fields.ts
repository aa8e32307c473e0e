import { readFileSync } from "node:fs";
import { z } from "zod";
import { table } from "./reference-tables.ts";

/** A schema of the OpenAPI document, as far as its fields are listed. */
interface Shape {
  readonly $ref?: string | undefined;
  readonly description?: string | undefined;
  readonly type?: string | readonly string[] | undefined;
  readonly const?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  readonly properties?: Readonly<Record<string, Shape>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: Shape | undefined;
  readonly additionalProperties?: Shape | boolean | undefined;
  readonly anyOf?: readonly Shape[] | undefined;
  readonly oneOf?: readonly Shape[] | undefined;
}

const Shape: z.ZodType<Shape> = z.lazy(() =>
  z.object({
    $ref: z.string().optional(),
    description: z.string().optional(),
    type: z.union([z.string(), z.array(z.string())]).optional(),
    const: z.unknown().optional(),
    enum: z.array(z.unknown()).optional(),
    properties: z.record(z.string(), Shape).optional(),
    required: z.array(z.string()).optional(),
    items: Shape.optional(),
    additionalProperties: z.union([z.boolean(), Shape]).optional(),
    anyOf: z.array(Shape).optional(),
    oneOf: z.array(Shape).optional(),
  }),
);
const Document = z.object({ components: z.object({ schemas: z.record(z.string(), Shape) }) });
type Shapes = Readonly<Record<string, Shape>>;

const ENVELOPE = "LoggedEvent";

/** One section for each type of event: the fields of its `data`, and what they mean. */
export function eventFields(openApiPath: URL): string[] {
  const shapes = readShapes(openApiPath);
  const events = shapes[ENVELOPE]?.oneOf?.map(({ $ref = "" }) => find($ref, shapes)) ?? [];
  return events.flatMap(({ properties = {} }) => {
    const data = properties["data"];
    const shape = data?.$ref === undefined ? data : find(data.$ref, shapes);
    return [`#### \`${String(properties["type"]?.const)}\``, fieldTable(shape ?? {}, shapes)];
  });
}

/** One section for each body and each part of one, by name. */
export function bodyFields(openApiPath: URL): string[] {
  const shapes = readShapes(openApiPath);
  // They have sections of their own, by their types.
  const events = new Set([ENVELOPE, ...(shapes[ENVELOPE]?.oneOf ?? []).map(({ $ref = "" }) => nameOf($ref))]);
  return Object.entries(shapes)
    .filter(([name]) => !events.has(name))
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([name, shape]) => [
      `### ${name}`,
      [shape.description ?? "", shape.properties === undefined ? `(${typeOf(shape)})` : ""].join(" ").trim(),
      ...(shape.properties === undefined ? [] : [fieldTable(shape, shapes)]),
    ]);
}

function fieldTable(shape: Shape, shapes: Shapes): string {
  return table(["field", "type", "meaning"], rowsOf(shape, "", shapes));
}

function rowsOf({ properties = {}, required = [] }: Shape, before: string, shapes: Shapes): string[][] {
  return Object.entries(properties).flatMap(([name, shape]) => {
    const path = `${before}${name}`;
    const meaning = shape.description ?? (shape.$ref === undefined ? "" : find(shape.$ref, shapes).description) ?? "";
    const { items, additionalProperties: rest } = shape;
    return [
      [`\`${path}${required.includes(name) ? "" : "?"}\``, typeOf(shape), meaning],
      ...rowsOf(shape, `${path}.`, shapes),
      ...(items === undefined ? [] : rowsOf(items, `${path}[].`, shapes)),
      ...(typeof rest === "object" ? rowsOf(rest, `${path}{}.`, shapes) : []),
    ];
  });
}

function typeOf(shape: Shape): string {
  const { $ref, items, additionalProperties: rest } = shape;
  if ($ref !== undefined) return `[${nameOf($ref)}](#${nameOf($ref).toLowerCase()})`;
  if (shape.const !== undefined) return `\`${JSON.stringify(shape.const)}\``;
  if (shape.enum !== undefined) return shape.enum.map((value) => `\`${String(value)}\``).join(", ");
  const choices = shape.anyOf ?? shape.oneOf;
  if (choices !== undefined) return choices.map(typeOf).join(" or ");
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (typeof rest === "object" && shape.properties === undefined) return `table of ${typeOf(rest)}`;
  return shape.type === undefined ? "any JSON" : [shape.type].flat().join(" or ");
}

function readShapes(openApiPath: URL): Shapes {
  return Document.parse(JSON.parse(readFileSync(openApiPath, "utf8"))).components.schemas;
}

function nameOf(reference: string): string {
  return reference.split("/").at(-1) ?? "";
}

function find(reference: string, shapes: Shapes): Shape {
  const found = shapes[nameOf(reference)];
  if (found === undefined) throw new Error(`openapi.json has no ${reference}`);
  return found;
}
