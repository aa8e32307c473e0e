import type { FastifyInstance } from "fastify";
import { ProblemError, type UrlTicket } from "../../protocol/index.ts";
import { createTickets } from "../terminal/tickets.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** A `GET` that can be read with a ticket in place of the token; its query takes `ticket`. */
    takesTicket?: boolean;
  }
}

/** Tickets that open one path each, for callers that can send no `Authorization`. */
export interface UrlTickets {
  /** @throws {ProblemError} invalid_request for a path that is of no route with `takesTicket` */
  issue(path: string): UrlTicket;
  /** Whether a ticket opens this path. The check uses it up, whatever the answer. */
  redeem(ticket: string, path: string): boolean;
}

/** Makes the tickets of an app. Must be called before the routes are registered. */
export function createUrlTickets(app: FastifyInstance, validMs: number): UrlTickets {
  const tickets = createTickets<string>(validMs);
  const routes: string[] = [];
  app.addHook("onRoute", ({ url, config }) => {
    if (config?.takesTicket === true) routes.push(url);
  });
  return {
    issue(path) {
      if (!routes.some((route) => isOf(route, path))) throw refusePath(routes);
      const { ticket, expires_in_ms } = tickets.issue(path);
      return { ticket, url: `${path}?ticket=${ticket}`, expires_in_ms };
    },
    redeem: (ticket, path) => tickets.redeem(ticket) === path,
  };
}

/** Whether a path is of a route such as `/v1/turns/:turn_id/events`; a `*` at the end is any rest. */
function isOf(route: string, path: string): boolean {
  const parts = path.split("/");
  const wanted = route.split("/");
  const isRest = wanted.at(-1) === "*";
  if (isRest ? parts.length < wanted.length : parts.length !== wanted.length) return false;
  return wanted.every(
    (part, index) => part === "*" || (part.startsWith(":") ? parts[index] !== "" : parts[index] === part),
  );
}

function refusePath(routes: readonly string[]): ProblemError {
  const message = `must be one of ${routes.map((route) => route.replaceAll(/:(\w+)/g, "{$1}")).join(", ")}`;
  return new ProblemError("invalid_request", `path: ${message}`, { fields: [{ path: "path", message }] });
}
