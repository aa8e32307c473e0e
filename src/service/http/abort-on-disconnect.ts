import type { FastifyReply } from "fastify";
import { ApiProblem } from "../protocol/problems.ts";

/** A signal that aborts when the caller disconnects or the service closes: work only for this answer ends then. */
export function whileWanted(reply: FastifyReply, closing: AbortSignal): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort(new CallerGone()));
  return AbortSignal.any([gone.signal, closing]);
}

/** The caller no longer reads this answer. */
class CallerGone extends ApiProblem {
  constructor() {
    super("shutting_down", "the caller has gone");
  }
}
