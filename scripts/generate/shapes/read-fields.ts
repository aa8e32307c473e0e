import { z } from "zod";
import { joinPath } from "../../../src/turnd/daemon/executors/drift/shapes.ts";
import type { KindFields } from "../../../src/turnd/daemon/executors/contract/records.ts";

type Schema = z.core.JSONSchema.BaseSchema;

/** What the translator reads of one kind of record: path to the marks of `KnownFields`. */
export type ReadFields = Map<string, Set<string>>;

/**
 * Lists the fields that the schema of a CLI's records reads, by kind of record: `text`, `item.completed/error`.
 *
 * @param within - further schemas of what the first one hands on unread, by path
 */
export function listReadFields(
  records: z.ZodType,
  within: Readonly<Record<string, readonly z.ZodType[]>>,
  { typeField = "type", refinedBy }: KindFields,
): Map<string, ReadFields> {
  const kinds = new Map<string, ReadFields>();
  for (const record of alternatives(toSchema(records))) {
    const items = refinedBy === undefined ? undefined : record.properties?.[refinedBy];
    const type = constOf(record, typeField);
    if (type === undefined) throw new Error(`a record without a type: ${JSON.stringify(record)}`);
    for (const item of items === undefined ? [undefined] : alternatives(items)) {
      const fields: ReadFields = new Map();
      for (const [key, value] of Object.entries(record.properties ?? {})) {
        addField(key === refinedBy && item !== undefined ? item : value, key, { fields, within });
      }
      kinds.set(item === undefined ? type : `${type}/${constOf(item, "type")}`, fields);
    }
  }
  return kinds;
}

interface Listing {
  readonly fields: ReadFields;
  readonly within: Readonly<Record<string, readonly z.ZodType[]>>;
}

function addField(given: Schema | boolean, path: string, listing: Listing): void {
  mark(listing, path, "read");
  const inner = listing.within[path]?.map(toSchema);
  for (const schema of inner ?? alternatives(given)) addBelow(schema, path, listing);
}

function addBelow(schema: Schema, path: string, listing: Listing): void {
  if (schema.type === undefined && schema.const === undefined && schema.enum === undefined) {
    mark(listing, path, "open");
  }
  for (const [key, value] of Object.entries(schema.properties ?? {})) addField(value, joinPath(path, key), listing);
  if (typeof schema.items === "object" && !Array.isArray(schema.items)) {
    addField(schema.items, joinPath(path, "[]"), listing);
  }
  if (typeof schema.additionalProperties === "object") {
    mark(listing, path, "map");
    addField(schema.additionalProperties, joinPath(path, "*"), listing);
  }
}

function mark({ fields }: Listing, path: string, name: string): void {
  fields.set(path, (fields.get(path) ?? new Set()).add(name));
}

function toSchema(schema: z.ZodType): Schema {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
}

function alternatives(schema: Schema | boolean): Schema[] {
  if (typeof schema === "boolean") return [{}];
  const inner = schema.oneOf ?? schema.anyOf;
  return inner === undefined ? [schema] : inner.flatMap(alternatives);
}

function constOf(schema: Schema, field: string): string | undefined {
  const type = schema.properties?.[field];
  return typeof type === "object" && typeof type.const === "string" ? type.const : undefined;
}
