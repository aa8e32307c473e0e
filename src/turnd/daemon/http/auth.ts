import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { isAddress, isLoopback, isSameHost, quoteHeader, readHostName } from "../../../kit/http/host-name.ts";
import { ProblemError, TicketQuery } from "../../protocol/index.ts";
import { pathOf } from "./request-path.ts";
import type { UrlTickets } from "./tickets.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Answered without a token, for probes. */
    isPublic?: boolean;
  }
}

/** What authenticates callers. */
export interface TokenGuardOptions {
  /** The bearer token that every request needs; without one, none is needed. */
  readonly token?: string | undefined;
  /** What opens one path without the token. */
  readonly tickets: UrlTickets;
  /** Whether a browser that has logged in sends these headers; it needs no token then. */
  readonly isLoggedIn: (headers: IncomingHttpHeaders) => boolean;
}

/** Which hosts requests may be sent to, and which pages may send them. */
export interface HostRules {
  /** The address turnd listens on. */
  readonly host: string;
  /** Whether callers authenticate by a token. */
  readonly token?: string | undefined;
  /** Names, without a port, that are accepted as Host besides those of loopback; `*` is any. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins accepted besides the request's own host, as `scheme://host:port`; their hosts are accepted as Host too. */
  readonly origins?: readonly string[];
  /** Origins of pages that are elsewhere, in the same form: accepted as Origin, not as Host. */
  readonly corsOrigins?: readonly string[];
}

/** Checks a request's Host and Origin. @throws {ProblemError} forbidden_origin */
export type HostCheck = (headers: Pick<IncomingHttpHeaders, "host" | "origin">) => void;

/** Refuses requests that a foreign web page made its reader's browser send. */
export function registerHostGuard(app: FastifyInstance, rules: HostRules): void {
  const checkHost = createHostCheck(rules);
  app.addHook("onRequest", async ({ headers }) => checkHost(headers));
}

/** Refuses requests without the token, or a ticket for what they ask. */
export function registerTokenGuard(app: FastifyInstance, options: TokenGuardOptions): void {
  const isTrusted = createTokenCheck(options.token);
  app.addHook("onRequest", async (request, reply) => {
    const { headers, routeOptions, raw } = request;
    if (routeOptions.config.isPublic === true) return;
    if (!isTrusted(headers.authorization) && !options.isLoggedIn(headers)) {
      refuseWithoutTicket(request, options.tickets);
      // The URL has been used, and is still not shown.
      void reply.headers({ "referrer-policy": "no-referrer", "cache-control": "no-store" });
    }
    if (options.token !== undefined) app.connections.trust(raw.socket);
  });
}

/**
 * Makes the check against foreign web pages.
 *
 * A browser can be led to a loopback address under any name (DNS rebinding). So on a loopback bind only loopback names
 * and addresses are accepted as Host. A page may send requests to the host it comes from; to another one only where its
 * origin is listed, character by character.
 */
export function createHostCheck(rules: HostRules): HostCheck {
  const { host: bound, token, hosts = [], origins = [], corsOrigins = [] } = rules;
  const listed = new Set([...origins, ...corsOrigins]);
  const isAnyHostGood = hosts.includes("*") || (token !== undefined && !isLoopback(bound));
  const names = new Set(hosts.map((name) => name.toLowerCase()));
  const ofOrigins = new Set(origins.map((origin) => URL.parse(origin)?.host));
  return ({ host, origin }) => {
    const name = readHostName(host);
    const isGood = name !== undefined && (isLoopback(name) || isAddress(name) || names.has(name));
    if (!isAnyHostGood && !isGood && !ofOrigins.has(host?.toLowerCase())) {
      throw new ProblemError(
        "forbidden_origin",
        `Host must be an address, a loopback name or one that TURND_HOSTS names, got ${quoteHeader(host)}`,
      );
    }
    if (origin !== undefined && !isSameHost(origin, host) && !listed.has(origin)) {
      // Only the terminal's page can have addresses of its own.
      const settings =
        rules.origins === undefined ? "TURND_CORS_ORIGINS" : "TURND_TERMINAL_URL or TURND_TERMINAL_ORIGINS";
      throw new ProblemError(
        "forbidden_origin",
        `Origin must be the request's host or one that ${settings} names, got ${quoteHeader(origin)}`,
      );
    }
  };
}

/** Makes the check of an `Authorization` header against the token; without a token every caller is trusted. */
export function createTokenCheck(token: string | undefined): (authorization: string | undefined) => boolean {
  if (token === undefined) return () => true;
  const wanted = digest(token);
  return (authorization) => {
    const given = /^bearer +(.+)$/i.exec(authorization ?? "")?.[1] ?? "";
    // Digests have one length, so the time taken reveals nothing of the token, not even its length.
    return timingSafeEqual(digest(given), wanted);
  };
}

/** Refuses a request without the token, unless it has a ticket for what it asks. */
function refuseWithoutTicket({ headers, routeOptions, query, url }: FastifyRequest, tickets: UrlTickets): void {
  const { ticket } = TicketQuery.loose().safeParse(routeOptions.config.takesTicket === true ? query : {}).data ?? {};
  if (headers.authorization !== undefined) throw new ProblemError("unauthorized", "the bearer token is not valid");
  if (ticket === undefined) throw new ProblemError("unauthorized", "send the token as `Authorization: Bearer <token>`");
  if (tickets.redeem(ticket, pathOf(url))) return;
  const message = "the ticket is not valid: each is good once, for one path and a short time; make a new one";
  throw new ProblemError("unauthorized", message);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
