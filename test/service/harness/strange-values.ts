import fc from "fast-check";

/** A JSON schema, as far as the description uses one. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly format?: string;
}
/** What people send by mistake and on purpose. */
export const STRANGE: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  1e308,
  "",
  " ",
  "a\0b",
  "\ud800",
  "x\udfff",
  "\u202e\ufeff",
  ".",
  "..",
  "a/b",
  "%00",
  "x".repeat(65),
  "y".repeat(3_000),
  "9999-12-31T23:59:59-12:00",
  "9999-12-31T23:59:59Z",
  "0000-01-01T00:00:00Z",
  "2099-02-29T00:00:00Z",
  "svkey_".padEnd(54, "0"),
  "00000000-0000-0000-0000-000000000000",
  "data:image/png;base64,AAAA",
  [],
  {},
  [[]],
  { "a\0": 1 },
  { constructor: { prototype: {} } },
  { decisions: [{ type: "approve" }] },
  nested(60),
  nested(70),
  nested(1_000),
];

function nested(depth: number): unknown {
  let value: unknown = {};
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
}

/** What fits a schema now and then, so that the fuzz gets behind the validation. */
function fitting(
  schema: Schema,
  all: Readonly<Record<string, Schema>>,
  seeds: readonly string[],
): fc.Arbitrary<unknown> {
  const { $ref } = schema;
  if ($ref !== undefined) return fitting(all[$ref.split("/").at(-1) ?? ""] ?? {}, all, seeds);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((each) => fitting(each, all, seeds)));
  switch (schema.type) {
    case "object":
      return bodyOf(schema, all, seeds);
    case "array":
      return fc.array(fitting(schema.items ?? {}, all, seeds), { maxLength: 3 });
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number":
      return fc.constantFrom<unknown>(0, 1, 2, 100, 2 ** 31 - 1, 2 ** 31, 2 ** 53 - 1);
    case "string":
      return schema.format === "date-time"
        ? fc.constantFrom("2999-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", "2099-01-01T00:00:00.123456789+05:30")
        : fc.oneof(fc.constantFrom(...seeds), fc.string({ unit: "binary", maxLength: 70 }));
    default:
      return fc.constantFrom(...STRANGE);
  }
}

/** A body of a schema: mostly what fits, now and then something strange, any field missing. */
export function bodyOf(
  schema: Schema,
  all: Readonly<Record<string, Schema>>,
  seeds: readonly string[],
): fc.Arbitrary<unknown> {
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]): [string, fc.Arbitrary<unknown>] => [
    name,
    fc.oneof(
      { weight: 6, arbitrary: fitting(field, all, seeds) },
      { weight: 1, arbitrary: fc.constantFrom(...STRANGE) },
    ),
  ]);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
}

/** The schema that a reference names, or the schema itself. */
export function resolve(schema: Schema | undefined, all: Readonly<Record<string, Schema>>): Schema | undefined {
  return schema?.$ref === undefined ? schema : all[schema.$ref.split("/").at(-1) ?? ""];
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
