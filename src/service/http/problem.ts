import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";
import { bodyLimitOf } from "../../kit/http/body-limits.ts";
import { readFastifyRefusal } from "../../kit/http/fastify-refusals.ts";
import { ApiProblem, PROBLEM_STATUS, ValidationProblem } from "../protocol/problems.ts";
import { isDatabaseAway, sqlState } from "../storage/transaction.ts";

const DISK_FULL = "53100";
const METHODS: readonly HTTPMethods[] = ["GET", "POST", "PUT", "DELETE"];

/**
 * Makes every refusal, and every fault behind it, a problem (`{"detail":…}`).
 *
 * A fault is logged here, once; the caller gets `internal_error` without its message.
 */
export function registerProblems(app: FastifyInstance): void {
  app.setErrorHandler(sendError);
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split("?", 1)[0] ?? "/";
    const allowed = METHODS.filter((method) => Boolean(app.findRoute({ method, url: path }))).map(String);
    if (allowed.length > 0) void reply.header("allow", allowed.join(", "));
    const offer = allowed.length > 0 ? `; this path offers ${allowed.join(" and ")}` : "; see /openapi.json";
    throw new ApiProblem("route_not_found", `there is no ${request.method} ${path}${offer}`);
  });
}

/** Answers what goes wrong before any route is found, where the error handler does not reach. */
export function sendRoutingError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  sendError(error, request, reply);
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const problem = toProblem(error, request);
  if (problem instanceof ValidationProblem) {
    void reply.code(422).send({ detail: problem.fields });
    return;
  }
  const { code, message, extras, retryAfterSeconds } = problem;
  if (code === "internal_error" || code === "not_ready" || code === "storage_full") {
    request.log.error({ err: error, method: request.method, route: request.routeOptions.url }, "request failed");
  }
  if (code === "unauthorized") void reply.header("www-authenticate", "Bearer");
  if (retryAfterSeconds !== undefined) void reply.header("retry-after", retryAfterSeconds);
  if (code === "login_locked") void reply.header("x-lock-remaining", retryAfterSeconds ?? 0);
  void reply.code(PROBLEM_STATUS[code]).send({ detail: { code, message, ...extras } });
}

function toProblem(error: unknown, request: FastifyRequest): ApiProblem | ValidationProblem {
  if (error instanceof ApiProblem || error instanceof ValidationProblem) return error;
  // Before the database is asked about: a client's connection breaks with the same codes as the database's.
  if (hasBrokenOff(request)) return new ApiProblem("invalid_json", "the body broke off");
  if (isDatabaseAway(error)) return new ApiProblem("not_ready", "the database is away; try again");
  if (sqlState(error) === DISK_FULL) return new ApiProblem("storage_full", "the database's disk is full");
  if (isDiskFull(error)) return new ApiProblem("storage_full", "the service's disk is full");
  const refusal = readFastifyRefusal(error, bodyLimitOf(request).bytes);
  if (refusal === undefined) {
    return new ApiProblem("internal_error", "the service failed to answer; the reason is in its log");
  }
  return new ApiProblem(refusal.code === "broken_request" ? "invalid_json" : refusal.code, refusal.message);
}

/** The client has gone before all of its body was here. */
function hasBrokenOff({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete;
}

/** A file could not be written for want of space: an upload's, where objects are files. */
function isDiskFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}
