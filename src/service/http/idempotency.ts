import type { FastifyRequest } from "fastify";
import { ApiProblem } from "../api/problems.ts";

/** A request's id, from the body or the header `Idempotency-Key`. @throws {ApiProblem} where both differ */
export function idempotencyKey(
  request: Pick<FastifyRequest, "headers">,
  inBody: string | undefined,
): string | undefined {
  const header = request.headers["idempotency-key"];
  const inHeader = typeof header === "string" && header !== "" ? header : undefined;
  if (inBody !== undefined && inHeader !== undefined && inBody !== inHeader) {
    throw new ApiProblem("idempotency_key_mismatch", "Idempotency-Key and request_id are one thing and differ here");
  }
  return inBody ?? inHeader;
}
