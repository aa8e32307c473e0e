import type { FastifyReply } from "fastify";
import { ApiProblem } from "../protocol/problems.ts";

/** @returns aborts when the caller has gone, or the service closes: what is done for this answer alone ends then */
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
