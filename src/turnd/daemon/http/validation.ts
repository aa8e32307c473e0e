import type { FastifySchemaCompiler } from "fastify";
import type { core, z } from "zod";
import { findOtherForm } from "../../../kit/http/number-form.ts";
import { ProblemError } from "../../protocol/index.ts";

/** How a part of a request is named in `fields[].path`; fields of the body stand alone. */
const PREFIX: Readonly<Record<string, string>> = { querystring: "query", params: "path", headers: "header" };

/** Most fields named in one answer. */
const MAX_FIELDS = 50;
const MAX_PATH_LENGTH = 200;

interface Field {
  readonly path: string;
  readonly message: string;
}

/** Validates a part of a request; what does not fit is an `invalid_request` with one entry per field. */
export const compileValidator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const prefix = httpPart === undefined ? undefined : PREFIX[httpPart];
  return (value) => {
    const result = schema.safeParse(value);
    if (!result.success) return { error: refuse(result.error.issues, prefix) };
    const name = prefix === undefined ? undefined : findOtherForm(value, result.data);
    if (name === undefined) return { value: result.data };
    const path = render([...(prefix === undefined ? [] : [prefix]), name]);
    const message = "a number is written in digits alone, without leading zeros";
    return { error: new ProblemError("invalid_request", `${path}: ${message}`, { fields: [{ path, message }] }) };
  };
};

function refuse(issues: readonly core.$ZodIssue[], prefix: string | undefined): ProblemError {
  const root = prefix === undefined ? [] : [prefix];
  const fields = toSomeFields(issues, root);
  const first = fields[0];
  const summary = first === undefined ? "the request is not valid" : `${first.path}: ${first.message}`;
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more in fields)` : "";
  return new ProblemError("invalid_request", `${summary}${more}`, { fields });
}

/** Not more than are answered: each costs the text of its path. */
function toSomeFields(issues: readonly core.$ZodIssue[], parent: readonly PropertyKey[]): Field[] {
  const fields: Field[] = [];
  for (const issue of issues) {
    if (fields.length >= MAX_FIELDS) break;
    fields.push(...toFields(issue, parent));
  }
  return fields.slice(0, MAX_FIELDS);
}

function toFields(issue: core.$ZodIssue, parent: readonly PropertyKey[]): Field[] {
  const path = [...parent, ...issue.path];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.slice(0, MAX_FIELDS).map((key) => ({ path: render([...path, key]), message: "unknown field" }));
    case "invalid_union":
      return toUnionFields(issue, path);
    default:
      return [{ path: render(path), message: issue.message }];
  }
}

/** Reports the branch the value was meant for: the one whose error is nested deepest. */
function toUnionFields(issue: core.$ZodIssueInvalidUnion, path: readonly PropertyKey[]): Field[] {
  const kinds = issue.errors.flat().map((inner) => (isOfOtherKind(inner) ? inner.expected : undefined));
  if (kinds.length > 0 && !kinds.includes(undefined)) {
    return [{ path: render(path), message: `Invalid input: expected ${[...new Set(kinds)].join(" or ")}` }];
  }
  const depth = (issues: readonly core.$ZodIssue[]): number =>
    issues.reduce((most, inner) => Math.max(most, isOfOtherKind(inner) ? -1 : inner.path.length), -Infinity);
  const [closest] = issue.errors.toSorted((left, right) => depth(right) - depth(left));
  if (closest === undefined) return [{ path: render(path), message: issue.message }];
  return toSomeFields(closest, path);
}

function isOfOtherKind(issue: core.$ZodIssue): issue is core.$ZodIssueInvalidType {
  return issue.code === "invalid_type" && issue.path.length === 0;
}

function render(path: readonly PropertyKey[]): string {
  return path.length === 0
    ? "body"
    : path
        .map((key) => String(key).slice(0, MAX_PATH_LENGTH))
        .join(".")
        .slice(0, MAX_PATH_LENGTH);
}
