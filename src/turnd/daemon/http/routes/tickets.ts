import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { UrlTicket, UrlTicketRequest } from "../../../protocol/index.ts";
import { refusals } from "../refusals.ts";
import type { UrlTickets } from "../tickets.ts";

export interface TicketRoutesOptions {
  readonly tickets: UrlTickets;
}

const schema = {
  tags: ["tickets"],
  operationId: "createTicket",
  summary: "Make a ticket for one request without the token",
  description:
    "For a browser's EventSource, which can send no `Authorization`: open the answer's `url` within its time. A ticket is " +
    "good for one `GET` of its path. An EventSource that comes back after a broken connection gets 401 and stops: make a new " +
    "ticket and continue with `after_seq` (`after` for a session or a shell).",
  body: UrlTicketRequest,
  response: { 201: UrlTicket, ...refusals("invalid_json", "body_too_large", "unsupported_media_type") },
} as const;

/** `POST /v1/tickets`. */
export const ticketRoutes: FastifyPluginAsyncZod<TicketRoutesOptions> = async (app, { tickets }) => {
  app.post("/v1/tickets", { schema }, async ({ body }, reply) =>
    reply.code(201).header("cache-control", "no-store").send(tickets.issue(body.path)),
  );
};
