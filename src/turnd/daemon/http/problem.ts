import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";
import { bodyLimitOf } from "../../../kit/http/body-limits.ts";
import { readFastifyRefusal } from "../../../kit/http/fastify-refusals.ts";
import { isProblemCode, ProblemError, type Problem } from "../../protocol/index.ts";
import { loggedPath, pathOf } from "./request-path.ts";

/** Takes secrets out of a text. Law: keys travel aside. */
export type RedactText = (text: string) => string;

/** The body of a refusal. Its text may quote the request; codes and ids are left as they are. */
export function renderProblem(problem: ProblemError, redact: RedactText): Problem {
  const { fields, ...extras } = problem.extras;
  return {
    detail: {
      // Another code is that of another turnd.
      code: isProblemCode(problem.code) ? problem.code : "internal_error",
      message: redact(problem.message),
      ...extras,
      ...(fields === undefined
        ? {}
        : { fields: fields.map(({ path, message }) => ({ path: redact(path), message: redact(message) })) }),
    },
  };
}

/**
 * Makes a problem (`{"detail":{…}}`) of every refusal of this app and of every internal error.
 *
 * An internal error is logged here, once; the client gets `internal_error` without its message.
 */
export function registerProblems(app: FastifyInstance, redact: RedactText): void {
  app.setErrorHandler((error, request, reply) => {
    sendProblem(toProblem(error, bodyLimitOf(request).bytes), error, request, reply, redact);
  });
  app.setNotFoundHandler((request, reply) => {
    const allowed = methodsAt(app, request.url);
    if (allowed.length > 0) void reply.header("allow", allowed.join(", "));
    // The terminal's own port has no description.
    const described = app.hasRoute({ method: "GET", url: "/openapi.json" }) ? "; see /openapi.json" : "";
    const offer = allowed.length > 0 ? `; this path has ${allowed.join(" and ")}` : described;
    throw new ProblemError("route_not_found", `there is no ${request.method} ${pathOf(request.url)}${offer}`);
  });
}

/**
 * Makes the function that sends a problem for what fails before any route is found, where the error handler is not
 * called.
 */
export function createRoutingRefusal(redact: RedactText) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void =>
    sendProblem(toProblem(error, 0), error, request, reply, redact);
}

function toProblem(error: unknown, maxBodyBytes: number): ProblemError {
  if (error instanceof ProblemError) return error;
  const refusal = readFastifyRefusal(error, maxBodyBytes);
  if (refusal === undefined) return new ProblemError("internal_error", "turnd failed to answer; its log says why");
  return new ProblemError(refusal.code === "broken_request" ? "invalid_request" : refusal.code, refusal.message);
}

function sendProblem(
  problem: ProblemError,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  redact: RedactText,
): void {
  if (problem.code === "internal_error") {
    request.log.error({ err: error, method: request.method, path: loggedPath(request.url) }, "request failed");
  }
  if (problem.code === "unauthorized") void reply.header("www-authenticate", 'Bearer realm="turnd"');
  if (problem.retryAfterSeconds !== undefined) void reply.header("retry-after", problem.retryAfterSeconds);
  void reply.code(problem.status).send(renderProblem(problem, redact));
}

const METHODS: readonly HTTPMethods[] = ["GET", "POST", "PUT", "DELETE"];

function methodsAt(app: FastifyInstance, url: string): string[] {
  // The router answers null where its types promise a route.
  return METHODS.filter((method) => Boolean(app.findRoute({ method, url: pathOf(url) }))).map(String);
}
