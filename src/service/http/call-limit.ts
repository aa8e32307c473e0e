import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiProblem } from "../api/problems.ts";

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
    const verdict = await limit(request);
    if (verdict.isAllowed || !verdict.isExceeded) return;
    const seconds = Math.max(1, verdict.ttlInSeconds);
    throw new ApiProblem("rate_limited", `more than ${verdict.max} calls a minute`, {}, seconds);
  };
}
