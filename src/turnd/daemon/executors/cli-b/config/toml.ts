import { parse, stringify, TomlError } from "smol-toml";
import { z } from "zod";

/** A TOML document, parsed. */
export type TomlTable = Readonly<Record<string, unknown>>;

const Table = z.record(z.string(), z.unknown());
const Scalar = z.union([z.string(), z.number(), z.boolean()]);
const Value: z.ZodType = z.lazy(() => z.union([Scalar, z.array(Scalar), z.record(z.string(), Value)]));
const Writable = z.record(z.string(), Value);

export type TomlResult = { readonly ok: true; readonly table: TomlTable } | { readonly ok: false; readonly at: string };

/** Parses a document; a fault is reported by its place only, because its text may hold a key. */
export function parseToml(text: string): TomlResult {
  try {
    return { ok: true, table: read(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return { ok: false, at: `line ${error.line}, column ${error.column}` };
  }
}

/** Integers that a number cannot hold are of type bigint: what is written again is what was read. */
function read(text: string): TomlTable {
  return parse(text, { integersAsBigInt: "asNeeded" });
}

/** The value as a table; anything else is an empty one. */
export function asTable(value: unknown): TomlTable {
  const table = Table.safeParse(value);
  return table.success ? table.data : {};
}

/** The value at a dotted path. */
export function readPath(table: TomlTable, path: string): unknown {
  return path.split(".").reduce<unknown>((value, key) => asTable(value)[key], table);
}

/** The table with a value at a dotted path; tables on the way are made. */
export function writePath(table: TomlTable, path: string, value: unknown): TomlTable {
  const [key = "", ...rest] = path.split(".");
  return { ...table, [key]: rest.length === 0 ? value : writePath(asTable(table[key]), rest.join("."), value) };
}

/**
 * Renders a document.
 *
 * @throws {z.ZodError} if a value is none that TOML has
 */
export function formatToml(table: TomlTable): string {
  return stringify(Writable.parse(table));
}

/**
 * A document with something changed in its table; what comments it had are gone. Dates and large numbers stay what they are.
 *
 * @throws the parser's error if it is none
 */
export function changeToml(text: string, change: (table: TomlTable) => TomlTable): string {
  return stringify({ ...read(text), ...change(read(text)) });
}

/** A basic string; JSON's escapes are TOML's, but for DEL, which TOML wants escaped. */
export function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}
