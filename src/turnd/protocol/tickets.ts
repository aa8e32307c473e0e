import * as z from "zod";

/** Body of `POST /v1/tickets`. Unknown fields are refused. */
export const UrlTicketRequest = z
  .strictObject({
    path: z
      .string()
      .max(2_048)
      .regex(/^\/[!-"$->@-~]*$/, "must be a path, without a query")
      .meta({
        description:
          "The path that is to be read without the token, as turnd gives it: the `events_url` of a turn, the events of a " +
          "session, the output of a shell, the recording of a turn.",
        example: "/v1/turns/0197f6f0-c1a2-7d2e-8b3c-5d6e7f809a1b/events",
      }),
  })
  .meta({ id: "UrlTicketRequest", description: "Which path a ticket is for." });
export type UrlTicketRequest = z.infer<typeof UrlTicketRequest>;

/** Reads one path, once and soon, for a caller that can send no header: an EventSource, a link. */
export const UrlTicket = z
  .strictObject({
    ticket: z
      .string()
      .meta({ description: "192 random bits. It is good for one `GET` of its path, and for nothing else." }),
    url: z.string().meta({ description: "The path with the ticket in its query; further parameters go behind it." }),
    expires_in_ms: z.int().positive().meta({ description: "How long the request may wait (`TURND_TICKET_MS`)." }),
  })
  .meta({ id: "UrlTicket", description: "A ticket that takes the place of the token for one request." });
export type UrlTicket = z.infer<typeof UrlTicket>;

/** The query parameter of what can be read with a ticket. */
export const TicketQuery = z.strictObject({
  ticket: z.string().max(200).optional().meta({
    description: "A ticket of `POST /v1/tickets`, in place of the token. It is not needed where no token is set.",
  }),
});
