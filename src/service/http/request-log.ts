import { LogController, type FastifyReply, type FastifyRequest } from "fastify";

/** One debug line a request, when it has been answered: its route, not its path. Headers, bodies and queries are never logged (law 10). */
export class RequestLog extends LogController {
  override incomingRequest(): void {
    // The line at the end says it all.
  }

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    const { method, routeOptions } = request;
    const fields = {
      method,
      route: routeOptions.url,
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime),
    };
    request.log.debug(error ? { ...fields, error: error.message } : fields, "request answered");
  }

  override streamError(error: Error, request: FastifyRequest): void {
    request.log.debug({ error: error.message, route: request.routeOptions.url }, "answer broke off");
  }

  override routeNotFound(): void {
    // Our own handler answers.
  }
}
