import type { FastifyInstance } from "fastify";
import { completeRefusals, groupRefusals, type Refusal } from "../../../kit/http/refusals.ts";
import { PROBLEM_STATUS, Problem, type ProblemCode } from "../../protocol/index.ts";

type StatusOf<C extends ProblemCode> = (typeof PROBLEM_STATUS)[C];

const RULES = { statusOf: PROBLEM_STATUS, schemaOf: () => Problem, withoutCode: "The request is refused." };

/** What any route may answer. */
const ALWAYS = ["unauthorized", "forbidden_origin", "invalid_request", "internal_error"] as const;
/** What a body may be refused for where a route needs none: it is read before that is known. */
const BODY_CODES = ["invalid_json", "unsupported_media_type", "body_too_large"] as const;

/** The response schemas of a route's refusals, by status. */
export function refusals<C extends ProblemCode = never>(
  ...codes: readonly C[]
): Record<StatusOf<C | (typeof ALWAYS)[number]>, Refusal<ProblemCode>>;
export function refusals(...codes: readonly ProblemCode[]): Record<number, Refusal<ProblemCode>> {
  return groupRefusals([...codes, ...ALWAYS], RULES);
}

/** Adds to each route of an app what its method implies. */
export function implyRefusals(app: FastifyInstance): void {
  completeRefusals(app, RULES, ({ method, schema }) => {
    const mayHaveBody = [method].flat().some((each) => each !== "GET" && each !== "HEAD");
    return { added: mayHaveBody && schema?.body === undefined ? BODY_CODES : [], removed: [] };
  });
}
