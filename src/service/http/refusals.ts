import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { completeRefusals, groupRefusals, type Refusal } from "../../kit/http/refusals.ts";
import { Problem, ValidationError } from "../protocol/common.ts";
import { PROBLEM_STATUS, type ProblemCode } from "../protocol/problems.ts";

type StatusOf<C extends ProblemCode> = (typeof PROBLEM_STATUS)[C];

const NOT_VALID = 422;
const Unprocessable = z.union([ValidationError, Problem]);
const RULES = {
  statusOf: PROBLEM_STATUS,
  schemaOf: (status: number) => (status === NOT_VALID ? Unprocessable : Problem),
  withoutCode: "The request does not validate.",
};

/** What any route may answer. */
const ALWAYS = [
  "unauthorized",
  "forbidden_host",
  "forbidden_origin",
  "rate_limited",
  "internal_error",
  "not_ready",
] as const;
/** What any call that is no GET may be refused for: a body is read before it is known that the route needs none. */
const CHANGING = ["invalid_json", "unsupported_media_type", "body_too_large", "shutting_down"] as const;

/** The response schemas of a route's refusals, by status. */
export function refusals<C extends ProblemCode = never>(
  ...codes: readonly C[]
): Record<StatusOf<C | (typeof ALWAYS)[number]> | typeof NOT_VALID, Refusal<ProblemCode>>;
export function refusals(...codes: readonly ProblemCode[]): Record<number, Refusal<ProblemCode>> {
  return groupRefusals([...codes, ...ALWAYS], RULES, [NOT_VALID]);
}

/** Adds to each route of an app what its method and body imply; a public route refuses no credential. */
export function implyRefusals(app: FastifyInstance): void {
  completeRefusals(app, RULES, ({ method, schema, config }) => ({
    added: [
      ...(method === "GET" ? [] : CHANGING),
      ...(schema?.body === undefined ? [] : (["storage_full"] as const)),
      ...(config?.describedHeaders?.["Idempotency-Key"] === undefined ? [] : (["idempotency_key_mismatch"] as const)),
    ],
    removed: schema?.security?.length === 0 ? ["unauthorized"] : [],
  }));
}
