import type { FastifySchemaCompiler } from "fastify";
import type { core, z } from "zod";

/** What does not fit in a request. */
export interface RequestFault {
  /** The part of the request (`body`, `query`, `path` or `header`), and the way to the value in it. */
  readonly path: readonly (string | number)[];
  readonly message: string;
  /** The kind of fault, such as `invalid_type` or `unknown_field`. */
  readonly type: string;
}

export interface ValidationRules {
  /**
   * Makes the refusal, in the form that the contract of each port fixes. turnd answers one problem, `invalid_request`, with
   * `fields[]` of `path` and `message`: clients and services of other versions read it, and one without them would be no
   * problem to them. The service answers a list of `loc`, `msg` and `type`, as its clients' generators expect of a 422.
   */
  refuse(faults: readonly RequestFault[]): Error;
  /** Looks at a part before its schema does. @returns the fault, its path from the part on */
  inspect?(value: unknown): RequestFault | undefined;
}

const PARTS: Readonly<Record<string, string>> = { querystring: "query", params: "path", headers: "header" };

/** Most faults named in one answer. */
const MAX_FAULTS = 50;
/** Most of a name that an answer repeats. */
const MAX_NAME = 200;

/** Makes the validator of an app's routes: a part of a request that does not fit is refused with one entry per fault. */
export function createValidator({ refuse, inspect }: ValidationRules): FastifySchemaCompiler<z.ZodType> {
  return ({ schema, httpPart = "body" }) => {
    const root = PARTS[httpPart] ?? httpPart;
    return (value) => {
      const fault = httpPart === "headers" ? undefined : inspect?.(value);
      if (fault !== undefined) return { error: refuse([{ ...fault, path: [root, ...fault.path] }]) };
      const result = schema.safeParse(value);
      if (!result.success) return { error: refuse(toSomeFaults(result.error.issues, [root])) };
      const name = httpPart === "body" ? undefined : findOtherForm(value, result.data);
      if (name === undefined) return { value: result.data };
      const message = "a number is written in digits only, without leading zeros";
      return { error: refuse([{ path: [root, name], message, type: "number_form" }]) };
    };
  };
}

type Path = readonly (string | number)[];

/** Not more than are answered: each costs the text of its path. */
function toSomeFaults(issues: readonly core.$ZodIssue[], parent: Path): RequestFault[] {
  const faults: RequestFault[] = [];
  for (const issue of issues) {
    if (faults.length >= MAX_FAULTS) break;
    faults.push(...toFaults(issue, parent));
  }
  return faults.slice(0, MAX_FAULTS);
}

function toFaults(issue: core.$ZodIssue, parent: Path): RequestFault[] {
  const path = [...parent, ...issue.path.map(shortName)];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys
        .slice(0, MAX_FAULTS)
        .map((key) => ({ path: [...path, shortName(key)], message: "unknown field", type: "unknown_field" }));
    case "invalid_union":
      return toUnionFaults(issue, path);
    default:
      return [{ path, message: issue.message, type: issue.code }];
  }
}

/** The faults of the branch the value was meant for: the one whose error is nested deepest. */
function toUnionFaults(issue: core.$ZodIssueInvalidUnion, path: Path): RequestFault[] {
  const kinds = issue.errors.flat().map((inner) => (isOfOtherKind(inner) ? inner.expected : undefined));
  if (kinds.length > 0 && !kinds.includes(undefined)) {
    const message = `Invalid input: expected ${[...new Set(kinds)].join(" or ")}`;
    return [{ path, message, type: issue.code }];
  }
  const depth = (issues: readonly core.$ZodIssue[]): number =>
    issues.reduce((most, inner) => Math.max(most, isOfOtherKind(inner) ? -1 : inner.path.length), -Infinity);
  const [closest] = issue.errors.toSorted((left, right) => depth(right) - depth(left));
  return closest === undefined ? [{ path, message: issue.message, type: issue.code }] : toSomeFaults(closest, path);
}

function isOfOtherKind(issue: core.$ZodIssue): issue is core.$ZodIssueInvalidType {
  return issue.code === "invalid_type" && issue.path.length === 0;
}

function shortName(key: PropertyKey): string | number {
  return typeof key === "number" ? key : String(key).slice(0, MAX_NAME);
}

/**
 * The field of a path or a query whose number is written in another form than its digits, such as `0x1`, `1e3`, ` 1` or `01`:
 * JavaScript reads those as numbers too, and a row would have many names.
 */
function findOtherForm(given: unknown, read: unknown): string | undefined {
  if (!isFields(given) || !isFields(read)) return undefined;
  return Object.keys(read).find((name) => {
    const text = given[name];
    return typeof read[name] === "number" && typeof text === "string" && text !== String(read[name]);
  });
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
