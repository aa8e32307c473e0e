import cors from "@fastify/cors";
import type { FastifyInstance } from "fastify";

/** What a page may send. Headers that the image's front acts on are not among them. */
const REQUEST_HEADERS = [
  "authorization",
  "content-type",
  "if-match",
  "if-none-match",
  "if-range",
  "last-event-id",
  "range",
  "traceparent",
  "tracestate",
];
/** What a page may read besides what every page may. */
const ANSWER_HEADERS = [
  "accept-ranges",
  "allow",
  "content-disposition",
  "content-range",
  // What a `Retry-After` that is a date counts from.
  "date",
  "etag",
  "retry-after",
  "www-authenticate",
  "x-turnd-left-out",
  "x-turnd-truncated",
];
const PREFLIGHT_SECONDS = 600;

/**
 * Lets pages of other origins call: those listed, compared as they are written, and no others.
 *
 * No cookie counts for them, so each has to have the token. Must be registered before what checks the token, since a
 * preflight has none, and behind what refuses other origins.
 * @param origins - `scheme://host:port` as browsers write it; without any, no answer has a header of CORS
 */
export async function registerCors(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  app.addHook("onRequest", async ({ method, headers }, reply) => {
    if (method !== "OPTIONS" || headers.origin === undefined || !origins.includes(headers.origin)) return;
    // A page of the internet that calls an address of a private network. @see the Private Network Access draft, section 3
    if (headers["access-control-request-private-network"] !== "true") return;
    void reply.header("access-control-allow-private-network", "true");
  });
  await app.register(cors, {
    origin: [...origins],
    methods: ["GET", "POST", "PUT", "DELETE"],
    allowedHeaders: REQUEST_HEADERS,
    exposedHeaders: ANSWER_HEADERS,
    credentials: false,
    // An OPTIONS that is no preflight gets the same answer.
    strictPreflight: false,
    maxAge: PREFLIGHT_SECONDS,
  });
}
