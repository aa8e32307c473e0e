import { LogController, type FastifyBaseLogger, type FastifyReply, type FastifyRequest } from "fastify";
import { loggedPath } from "./request-path.ts";

/** One debug line a request, when it has been answered. Neither headers nor bodies nor queries are logged (law 8). */
export class RequestLog extends LogController {
  override incomingRequest(): void {
    // The line at the end says it all.
  }

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    const { method, url } = request;
    const path = loggedPath(url);
    const fields = { method, path, status: reply.statusCode, durationMs: Math.round(reply.elapsedTime) };
    // A connection that breaks is the client's affair.
    request.log.debug(error ? { ...fields, error: error.message } : fields, "request answered");
  }

  override streamError(error: Error, request: FastifyRequest): void {
    request.log.debug({ error: error.message, path: loggedPath(request.url) }, "answer broke off");
  }

  override routeNotFound(): void {
    // Our own handler answers.
  }
}

/** The logger of the HTTP room: the Authorization header is masked wherever it might turn up. */
export function createHttpLogger(logger: FastifyBaseLogger): FastifyBaseLogger {
  return logger.child(
    { room: "http" },
    { redact: ["headers.authorization", "req.headers.authorization", "err.request.headers.authorization"] },
  );
}
