import toml from "@iarna/toml";
import { z } from "zod";

/** A TOML document, parsed. */
export type TomlTable = Readonly<Record<string, unknown>>;

const Table = z.record(z.string(), z.unknown());

export type TomlResult = { readonly ok: true; readonly table: TomlTable } | { readonly ok: false; readonly at: string };

/** Parses a document; a fault is told by its place alone, because its text may hold a key. */
export function parseToml(text: string): TomlResult {
  try {
    return { ok: true, table: toml.parse(text) };
  } catch (error) {
    const place = z.object({ line: z.int(), col: z.int() }).safeParse(error);
    return { ok: false, at: place.success ? `line ${place.data.line + 1}, column ${place.data.col + 1}` : "its end" };
  }
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

/** A basic string; JSON's escapes are TOML's, but for DEL, which TOML wants escaped. */
export function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}
