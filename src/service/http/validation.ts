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
/** Most of a name that an answer repeats. */
const MAX_NAME = 200;

type Loc = readonly (string | number)[];

/** Validates a part of a request: 422 with one entry for each field that does not fit. */
export const compileValidator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = "body" }) => {
  const root = PARTS[httpPart] ?? httpPart;
  return (value) => {
    const fault = httpPart === "headers" ? undefined : findUnstorable(value);
    if (fault !== undefined) return { error: new ValidationProblem([describeUnstorable(fault, root)]) };
    const result = schema.safeParse(value);
    if (result.success) return { value: result.data };
    const fields: FieldError[] = [];
    for (const issue of result.error.issues) {
      if (fields.length >= MAX_FIELDS) break;
      fields.push(...toFields(issue, [root]));
    }
    return { error: new ValidationProblem(fields.slice(0, MAX_FIELDS)) };
  };
};

interface Unstorable {
  /** From the part of the request to the value; written down only where there is a fault. */
  readonly way: (string | number)[];
  readonly isName: boolean;
}

/** No engine stores U+0000 or half a surrogate. How deep a body is, and of how many values, its parser has limited. */
function findUnstorable(value: unknown): Unstorable | undefined {
  if (typeof value === "string") return isStorable(value) ? undefined : { way: [], isName: false };
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const fault = findUnstorable(value[index]);
      if (fault !== undefined) return below(index, fault);
    }
    return undefined;
  }
  for (const [key, entry] of Object.entries(value)) {
    if (!isStorable(key)) return { way: [shortName(key)], isName: true };
    const fault = findUnstorable(entry);
    if (fault !== undefined) return below(shortName(key), fault);
  }
  return undefined;
}

function below(key: string | number, { way, isName }: Unstorable): Unstorable {
  return { way: [key, ...way], isName };
}

function describeUnstorable({ way, isName }: Unstorable, root: string): FieldError {
  const what = isName ? "its name contains" : "must not contain";
  return { loc: [root, ...way], msg: `${what} U+0000 or half a surrogate pair`, type: "unstorable_text" };
}

function shortName(key: PropertyKey): string | number {
  return typeof key === "number" ? key : storableText(String(key).slice(0, MAX_NAME));
}

function toFields(issue: core.$ZodIssue, parent: Loc): FieldError[] {
  const loc = [...parent, ...issue.path.map(shortName)];
  if (issue.code === "unrecognized_keys") {
    return issue.keys
      .slice(0, MAX_FIELDS)
      .map((key) => ({ loc: [...loc, shortName(key)], msg: "unknown field", type: "unknown_field" }));
  }
  if (issue.code === "invalid_union") {
    const deepest = issue.errors.toSorted((left, right) => depth(right) - depth(left))[0];
    if (deepest !== undefined && depth(deepest) > 0)
      return deepest.slice(0, MAX_FIELDS).flatMap((inner) => toFields(inner, loc));
  }
  return [{ loc, msg: issue.message, type: issue.code }];
}

function depth(issues: readonly core.$ZodIssue[]): number {
  return issues.reduce((most, { path }) => Math.max(most, path.length), 0);
}
