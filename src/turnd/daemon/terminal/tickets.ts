import { randomBytes } from "node:crypto";
import type { Ticket } from "../../protocol/index.ts";

/** Tickets of one kind: each is good once, for a short time and for one purpose. They end with this process. */
export interface Tickets<Purpose> {
  issue(purpose: Purpose): Omit<Ticket, "session_id">;
  /** What a ticket is for; undefined for one that is unknown, used or expired. A ticket that was asked for is used. */
  redeem(ticket: string): Purpose | undefined;
}

/** Entries that are kept; the oldest are dropped. */
const MAX_KEPT = 1_000;

/** Makes the tickets of one kind. @param validMs - how long each is good */
export function createTickets<Purpose>(validMs: number): Tickets<Purpose> {
  const tickets = new Map<string, { readonly purpose: Purpose; readonly expiresAt: number }>();
  return {
    issue(purpose) {
      const ticket = randomBytes(24).toString("base64url");
      keepNewest(tickets, ticket, { purpose, expiresAt: performance.now() + validMs });
      return { ticket, expires_in_ms: validMs };
    },
    redeem(ticket) {
      const found = tickets.get(ticket);
      tickets.delete(ticket);
      return found !== undefined && performance.now() < found.expiresAt ? found.purpose : undefined;
    },
  };
}

/** Adds an entry as the newest one, and drops the oldest where there are too many. Law: every wait is bounded. */
export function keepNewest<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_KEPT && oldest !== undefined) map.delete(oldest);
}
