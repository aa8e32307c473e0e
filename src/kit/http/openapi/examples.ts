import { findSchema, SCHEMAS, type JsonSchema, type Schemas } from "./document.ts";

/** The values that examples are made of. */
export interface ExampleValues {
  /** Every time stamp. */
  readonly at: string;
  readonly uuid: string;
  /** What a field of a name looks like; used where it fits the field's schema. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** By the name of a schema, optional fields that show what it is for; the other optional ones are left out. */
  readonly shown: Readonly<Record<string, readonly string[]>>;
  /** Values of `Schema.field`, where the field's name is not enough. */
  readonly whole: Readonly<Record<string, unknown>>;
}

/** Makes a value that fits a schema. */
export type ExampleOf = (schema: JsonSchema) => unknown;

/** Makes examples of a document's schemas: plausible ones by the names of the fields. A test validates each of them. */
export function createExamples(schemas: Schemas, values: ExampleValues): ExampleOf {
  const { at, uuid, fields, shown, whole } = values;

  function exampleOf(schema: JsonSchema, name = "", path: readonly string[] = []): unknown {
    const { $ref } = schema;
    if ($ref !== undefined) {
      const id = $ref.slice(SCHEMAS.length);
      const target = findSchema($ref, schemas);
      // What refers to itself is shown once.
      if (target === undefined || path.includes(id)) return {};
      return exampleOf(target, name, [...path, id]);
    }
    if (schema.const !== undefined) return schema.const;
    const known = fields[name];
    if (schema.enum !== undefined) return schema.enum.includes(known) ? known : schema.enum[0];
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return exampleOf(choices.find(isNotNull) ?? {}, name, path);
    if (schema.default !== undefined && known === undefined) return schema.default;
    switch (typeof schema.type === "string" ? schema.type : schema.type?.[0]) {
      case "object":
        if (schema.properties === undefined) return isObject(known) ? known : {};
        return objectOf(schema, path);
      case "array":
        return schema.items === undefined ? [] : [exampleOf(schema.items, name, path)];
      case "string":
        return typeof known === "string" && !isMoment(schema, name) && schema.format !== "uuid"
          ? known
          : textOf(schema, name);
      case "integer":
      case "number":
        return typeof known === "number" ? known : Math.max(schema.minimum ?? 0, 1);
      case "boolean":
        return typeof known === "boolean" ? known : true;
      case "null":
        return null;
      default:
        return known ?? {};
    }
  }

  function objectOf({ required = [], properties = {} }: JsonSchema, path: readonly string[]): Record<string, unknown> {
    const id = path.at(-1) ?? "";
    // Both forms of a schema are meant by one name; a schema may itself be called `…Input`.
    const ids = [id, id.replace(/Input$/, "")];
    const names = new Set([...required, ...ids.flatMap((each) => shown[each] ?? [])]);
    return Object.fromEntries(
      Object.entries(properties)
        .filter(([field]) => names.has(field))
        .map(([field, each]) => {
          const key = ids.map((own) => `${own}.${field}`).find((own) => own in whole);
          return [field, key === undefined ? exampleOf(each, field, path) : whole[key]];
        }),
    );
  }

  function textOf(schema: JsonSchema, name: string): string {
    const { format, minLength = 0 } = schema;
    if (isMoment(schema, name)) return at;
    if (format === "uuid") return uuid;
    if (format === "date") return at.slice(0, "2026-01-02".length);
    if (format === "uri") return "https://example.org/";
    return (name === "" ? "text" : name).padEnd(minLength, "x");
  }

  return (schema) => exampleOf(schema);
}

function isMoment({ format }: JsonSchema, name: string): boolean {
  return format === "date-time" || /_at$|^at$/.test(name);
}

function isNotNull({ type }: JsonSchema): boolean {
  return type !== "null";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
