import { sql, type RawBuilder } from "kysely";

/** JSON as it is bound: text cast to jsonb, since the two drivers disagree on arrays and strings. */
export interface JsonText<T> {
  readonly json: T;
}

/**
 * Makes a value one that both engines can store: they refuse U+0000 in text and jsonb and half a surrogate in jsonb, and CLIs
 * print such bytes. Each becomes U+FFFD, in keys too.
 */
export function storable<T>(value: T): T;
export function storable(value: unknown): unknown {
  if (typeof value === "string") return storableText(value);
  if (Array.isArray(value)) return value.map((entry: unknown) => storable(entry));
  if (value instanceof Date || value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [storableText(key), storable(entry)]));
}

/** Whether a text can be stored as it is; what users send and is not, is refused. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** Binds a value as jsonb. */
export function json<T>(value: T): RawBuilder<JsonText<T>> {
  return sql<JsonText<T>>`${JSON.stringify(storable(value))}::jsonb`;
}

/** A text as both engines store it. */
export function storableText(text: string): string {
  return isStorable(text) ? text : text.toWellFormed().replaceAll("\0", "\uFFFD");
}
