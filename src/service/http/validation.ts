import type { FastifySchemaCompiler } from "fastify";
import type { core, z } from "zod";
import { ValidationProblem, type FieldError } from "../protocol/problems.ts";
import { findOtherForm } from "../../kit/http/number-form.ts";
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

const NUMBER_FORM = "a number is written in digits alone, without leading zeros";

type Loc = readonly (string | number)[];

/** Validates a part of a request: 422 with one entry for each field that does not fit. */
export const compileValidator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = "body" }) => {
  const root = PARTS[httpPart] ?? httpPart;
  return (value) => {
    const fault = httpPart === "headers" ? undefined : findUnstorable(value);
    if (fault !== undefined) return { error: new ValidationProblem([describeUnstorable(fault, root)]) };
    const result = schema.safeParse(value);
    if (result.success) {
      const name = httpPart === "body" ? undefined : findOtherForm(value, result.data);
      if (name === undefined) return { value: result.data };
      return { error: new ValidationProblem([{ loc: [root, name], msg: NUMBER_FORM, type: "number_form" }]) };
    }
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
  readonly what: "text" | "name" | "number";
}

/**
 * No engine stores U+0000 or half a surrogate, and a number like 1e999 is none once it is read: it would be kept as null. How deep a body is, and of how many values, its parser has limited.
 */
function findUnstorable(value: unknown): Unstorable | undefined {
  if (typeof value === "string") return isStorable(value) ? undefined : { way: [], what: "text" };
  if (typeof value === "number") return Number.isFinite(value) ? undefined : { way: [], what: "number" };
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const fault = findUnstorable(value[index]);
      if (fault !== undefined) return below(index, fault);
    }
    return undefined;
  }
  for (const [key, entry] of Object.entries(value)) {
    if (!isStorable(key)) return { way: [shortName(key)], what: "name" };
    const fault = findUnstorable(entry);
    if (fault !== undefined) return below(shortName(key), fault);
  }
  return undefined;
}

function below(key: string | number, { way, what }: Unstorable): Unstorable {
  return { way: [key, ...way], what };
}

function describeUnstorable({ way, what }: Unstorable, root: string): FieldError {
  const loc = [root, ...way];
  if (what === "number") return { loc, msg: "the number is larger than a number can be", type: "unstorable_number" };
  const fault = what === "name" ? "its name contains" : "must not contain";
  return { loc, msg: `${fault} U+0000 or half a surrogate pair`, type: "unstorable_text" };
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
