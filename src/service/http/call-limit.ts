import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiProblem } from "../protocol/problems.ts";

const MINUTE_MS = 60_000;

/** Counts a call. @throws {ApiProblem} rate_limited, with the seconds until the next minute */
export type CountCall = (request: FastifyRequest) => Promise<void>;

/**
 * A limit of calls a minute for each key.
 *
 * @param max - 0 is off
 */
export function createCallLimit(
  app: FastifyInstance,
  max: number,
  keyGenerator: (request: FastifyRequest) => string,
): CountCall {
  if (max === 0) return async () => undefined;
  const limit = app.createRateLimit({ max, timeWindow: MINUTE_MS, keyGenerator });
  return async (request) => {
    const result = await limit(request);
    if (result.isAllowed || !result.isExceeded) return;
    const seconds = Math.max(1, result.ttlInSeconds);
    throw new ApiProblem("rate_limited", `more than ${result.max} calls a minute`, {}, seconds);
  };
}
