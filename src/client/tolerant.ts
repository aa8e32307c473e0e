import type * as z from "zod";

/**
 * Parses what a turnd of another version may have sent: fields that this version does not know are left out.
 *
 * Schemas of the protocol are strict, so that turnd itself sends nothing that is not declared.
 */
export function parseTolerant<T extends z.ZodType>(schema: T, value: unknown): z.ZodSafeParseResult<z.output<T>> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed;
  const unknown = parsed.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => JSON.stringify([...issue.path, key])) : [],
  );
  return unknown.length === 0 ? parsed : schema.safeParse(without(value, new Set(unknown), []));
}

/** A copy without the fields at these paths. */
function without(value: unknown, paths: ReadonlySet<string>, at: readonly PropertyKey[]): unknown {
  if (Array.isArray(value)) return value.map((each: unknown, index) => without(each, paths, [...at, index]));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !paths.has(JSON.stringify([...at, key])))
      .map(([key, each]) => [key, without(each, paths, [...at, key])]),
  );
}
