import type { FastifySchemaCompiler } from "fastify";
import type { core, z } from "zod";
import { ValidationProblem, type FieldError } from "../api/problems.ts";
import { isStorable, storableText } from "../storage/storable.ts";

const PARTS: Readonly<Record<string, string>> = {
  querystring: "query",
  params: "path",
  headers: "header",
  body: "body",
};
/** Most fields named in one answer. */
const MAX_FIELDS = 50;
const MAX_DEPTH = 64;

/** Validates a part of a request: 422 with one entry for each field that does not fit. */
export const compileValidator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = "body" }) => {
  const root = PARTS[httpPart] ?? httpPart;
  return (value) => {
    const fault = httpPart === "headers" ? undefined : findUnstorable(value, [root]);
    if (fault !== undefined) return { error: new ValidationProblem([fault]) };
    const result = schema.safeParse(value);
    if (result.success) return { value: result.data };
    const fields = result.error.issues.flatMap((issue) => toFields(issue, [root])).slice(0, MAX_FIELDS);
    return { error: new ValidationProblem(fields) };
  };
};

/** No engine stores U+0000 or half a surrogate, and nothing needs a depth that only an attack has. */
function findUnstorable(value: unknown, loc: readonly (string | number)[]): FieldError | undefined {
  if (typeof value === "string") {
    return isStorable(value)
      ? undefined
      : { loc, msg: "must not contain U+0000 or half a surrogate pair", type: "unstorable_text" };
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (loc.length > MAX_DEPTH) return { loc: loc.slice(0, 8), msg: `nested deeper than ${MAX_DEPTH}`, type: "too_deep" };
  const entries: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  for (const [key, entry] of entries) {
    if (typeof key === "string" && !isStorable(key))
      return {
        loc: [...loc, storableText(key)],
        msg: "its name contains U+0000 or half a surrogate pair",
        type: "unstorable_text",
      };
    const fault = findUnstorable(entry, [...loc, key]);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function toFields(issue: core.$ZodIssue, parent: readonly (string | number)[]): FieldError[] {
  const loc = [...parent, ...issue.path.map((key) => (typeof key === "number" ? key : String(key)))];
  if (issue.code === "unrecognized_keys") {
    return issue.keys
      .slice(0, MAX_FIELDS)
      .map((key) => ({ loc: [...loc, key], msg: "unknown field", type: "unknown_field" }));
  }
  if (issue.code === "invalid_union") {
    const deepest = issue.errors.toSorted((left, right) => depth(right) - depth(left))[0];
    if (deepest !== undefined && depth(deepest) > 0) return deepest.flatMap((inner) => toFields(inner, loc));
  }
  return [{ loc, msg: issue.message, type: issue.code }];
}

function depth(issues: readonly core.$ZodIssue[]): number {
  return Math.max(0, ...issues.map(({ path }) => path.length));
}
