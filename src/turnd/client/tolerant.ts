import type * as z from "zod";
import { isWord, type Tolerant } from "../protocol/newer-words.ts";

/** The result of reading an answer tolerantly. */
export type TolerantResult<T> =
  | { readonly success: true; readonly data: Tolerant<T> }
  | { readonly success: false; readonly error: z.ZodError };

type Path = readonly PropertyKey[];
type Issue = z.core.$ZodIssue;

/**
 * Parses what a turnd of another version may have sent: fields that this version does not know are left out, and words of
 * closed lists that it does not know are kept as they are, also where the list has one word so far.
 *
 * Schemas of the protocol are strict and their lists are closed, so that turnd itself sends nothing that is not declared.
 */
export function parseTolerant<T extends z.ZodType>(schema: T, value: unknown): TolerantResult<z.output<T>> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return accepted(parsed.data);
  const changes = parsed.error.issues.flatMap((issue) => changesFor(issue, value));
  if (changes.length === 0) return parsed;
  const known = schema.safeParse(
    changes.reduce<unknown>((changed, { path, known: put }) => set(changed, path, put), value),
  );
  if (!known.success) return known;
  const words = changes.filter(({ word }) => word !== undefined);
  return accepted(words.reduce<unknown>((changed, { path, word }) => set(changed, path, word), known.data));
}

/** Only words that {@link Tolerant} allows were put in what the schema has accepted. */
function accepted<T>(data: unknown): { success: true; data: Tolerant<T> } {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a word that no list has can be given its type in no other way
  return { success: true, data: data as Tolerant<T> };
}

/** A replacement at a place, so that this version can read the rest. */
interface Change {
  readonly path: Path;
  /** Undefined: the field is left out. */
  readonly known: unknown;
  /** The value that is put back afterwards. */
  readonly word?: string;
}

function changesFor(issue: Issue, value: unknown): Change[] {
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({ path: [...issue.path, key], known: undefined }));
  if (issue.code === "invalid_union") return leaveOutShape(issue.path, value);
  if (issue.code !== "invalid_value") return [];
  // A single shape of its own is recognized by its `type`.
  if (issue.values.length === 1 && issue.path.at(-1) === "type") return [];
  const word = get(value, issue.path);
  return isWord(word) ? [{ path: issue.path, known: issue.values[0], word }] : [];
}

/** A member that a newer turnd has added, such as a server of a new type. An element of a list is not left out: order counts there. */
function leaveOutShape(path: Path, value: unknown): Change[] {
  const shape = path.slice(0, -1);
  const isNew = path.at(-1) === "type" && isWord(get(value, path));
  return isNew && shape.length > 0 && !Array.isArray(get(value, shape.slice(0, -1)))
    ? [{ path: shape, known: undefined }]
    : [];
}

function get(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined),
    value,
  );
}

/** A copy with another value at a path, or without it. */
function set(value: unknown, [key, ...rest]: Path, put: unknown): unknown {
  if (key === undefined) return put;
  if (Array.isArray(value)) return value.map((each: unknown, index) => (index === key ? set(each, rest, put) : each));
  if (typeof value !== "object" || value === null) return value;
  if (rest.length > 0 || put !== undefined) return { ...value, [key]: set(Reflect.get(value, key), rest, put) };
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
}
