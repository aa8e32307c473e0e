import type { KindFields, KnownFields } from "../contract/records.ts";

/** A known field, its text taken apart. */
export interface Field {
  /** Joined by `|`, in order. */
  readonly types: string;
  readonly isRead: boolean;
  readonly isOpen: boolean;
  readonly isMap: boolean;
}

/** Reads a field's entry in the table. */
export function readField(text: string): Field {
  const [types = "", ...marks] = text.split(" ");
  return {
    types,
    isRead: marks.includes("read"),
    isOpen: marks.includes("open"),
    isMap: marks.includes("map"),
  };
}

/** The path of a field of an object, or of the elements of a list (`[]`). */
export function joinPath(path: string, key: string): string {
  if (key === "[]") return `${path}[]`;
  // A key that holds the marks of a path, or what a terminal would act on, is quoted.
  const name = /^[\w$*-]+$/.test(key) ? key : JSON.stringify(key);
  return path === "" ? name : `${path}.${name}`;
}

/** An object or a list of JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/** Whether a value has fields or elements. */
export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

/**
 * The kind of a record: its type, `text`, or with the type of the field that refines it, `item.completed/error`.
 *
 * @returns undefined for what has no type
 */
export function kindOf(record: Fields, { typeField = "type", refinedBy }: KindFields): string | undefined {
  const part = refinedBy === undefined ? undefined : record[refinedBy];
  const type = record[typeField];
  if (typeof type !== "string" || !isObject(part)) return typeof type === "string" ? type : undefined;
  return `${type}/${typeof part["type"] === "string" ? part["type"] : "(none)"}`;
}

/** What JSON calls a value. */
export function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/**
 * Notes every field of a record and its JSON type, but nothing below an open one.
 *
 * @param into - path to types; what is there is added to
 */
export function collectFields(record: unknown, known: KnownFields, into: Map<string, Set<string>>): void {
  function visit(value: unknown, path: string): void {
    if (path !== "") into.set(path, (into.get(path) ?? new Set()).add(typeOf(value)));
    if (typeof value !== "object" || value === null) return;
    const field = readField(known[path] ?? "");
    if (field.isOpen) return;
    if (Array.isArray(value)) for (const element of value) visit(element, joinPath(path, "[]"));
    else for (const [key, inner] of Object.entries(value)) visit(inner, joinPath(path, field.isMap ? "*" : key));
  }
  visit(record, "");
}
