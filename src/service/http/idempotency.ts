import type { FastifyRequest } from "fastify";
import { Id } from "../protocol/common.ts";
import { InputProblem, ValidationProblem } from "../protocol/problems.ts";

/** The configuration of a route where the header is the request's id. */
export const idempotent = {
  config: {
    describedHeaders: {
      "Idempotency-Key": "The request's id, where the body names none; both and different is 422.",
    },
  },
};

const LOC = ["header", "idempotency-key"];

/**
 * A request's id, from the body or the header `Idempotency-Key`. Which ids there are is the same for both.
 *
 * @throws {ValidationProblem} where the header is no id
 * @throws {InputProblem} where both differ
 */
export function idempotencyKey(
  request: Pick<FastifyRequest, "headers">,
  inBody: string | undefined,
  schema: Pick<typeof Id, "safeParse"> = Id,
): string | undefined {
  const header = request.headers["idempotency-key"];
  const inHeader = typeof header === "string" && header !== "" ? header : undefined;
  if (inHeader !== undefined) {
    const [issue] = schema.safeParse(inHeader).error?.issues ?? [];
    if (issue !== undefined) {
      throw new ValidationProblem([{ loc: LOC, msg: issue.message, type: issue.code }]);
    }
  }
  if (inBody !== undefined && inHeader !== undefined && inBody !== inHeader) {
    throw new InputProblem(
      "idempotency_key_mismatch",
      LOC,
      "Idempotency-Key and request_id are one thing and differ here",
    );
  }
  return inBody ?? inHeader;
}
