import { LogController, type FastifyReply, type FastifyRequest } from "fastify";

/** What of a request may be logged: nothing secret. */
export type NameRequest = (request: FastifyRequest) => Readonly<Record<string, string | undefined>>;

/** One debug line per request, when it has been answered. Headers, bodies and queries are not logged. */
export class RequestLog extends LogController {
  readonly #name: NameRequest;

  constructor(name: NameRequest) {
    super();
    this.#name = name;
  }

  override incomingRequest(): void {
    // The line at the end contains everything.
  }

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    const answer = { status: reply.statusCode, durationMs: Math.round(reply.elapsedTime) };
    const fields = { method: request.method, ...this.#name(request), ...answer };
    // A broken connection is no fault of the server.
    request.log.debug(error ? { ...fields, error: error.message } : fields, "request answered");
  }

  override streamError(error: Error, request: FastifyRequest): void {
    request.log.debug({ error: error.message, ...this.#name(request) }, "answer broke off");
  }

  override routeNotFound(): void {
    // Our own handler answers.
  }
}
