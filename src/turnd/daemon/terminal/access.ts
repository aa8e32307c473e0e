import { randomUUID } from "node:crypto";
import { ProblemError, type Ticket } from "../../protocol/index.ts";
import { createTickets, keepNewest } from "./tickets.ts";

/**
 * Who may open which terminal.
 *
 * An id that turnd made itself (a link) is a UUIDv4: a caller that has it got it from a client with the token. An id
 * that a caller chose, such as a turn session's, can be guessed: it needs the token itself, where turnd has one.
 */
export interface Access {
  /** A new id that opens a terminal without the token, until it has been unused for a time. */
  issueLink(): string;
  /** Makes an id that turnd chose a link. */
  addLink(id: string): void;
  isLink(id: string): boolean;
  /**
   * Gives a ticket for a terminal.
   *
   * @param isTrusted - whether the caller gave the token, or none is needed
   * @throws {ProblemError} unauthorized, whether there is such a terminal or not; session_not_found
   */
  issueTicket(id: string, isTrusted: boolean): Omit<Ticket, "session_id">;
  /** The terminal a ticket is for. A ticket works once, and for a short time. */
  redeem(ticket: string): string | undefined;
}

export interface AccessOptions {
  readonly ticketMs: number;
  /** How long a link may stay unused while no shell of its id runs. */
  readonly linkMs: number;
  readonly isRunning: (id: string) => boolean;
  /** Whether the id names something other than a link: a shell, a turn session. */
  readonly isKnown: (id: string) => boolean;
}

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function createAccess(options: AccessOptions): Access {
  /** By id, the one used last at the end; the value is when that was. */
  const links = new Map<string, number>();
  const tickets = createTickets<string>(options.ticketMs);

  function addLink(id: string): void {
    links.delete(id);
    keepNewest(links, id, performance.now());
  }

  function isLink(id: string): boolean {
    const usedAt = links.get(id);
    if (usedAt === undefined) return false;
    if (options.isRunning(id) || performance.now() - usedAt < options.linkMs) return true;
    links.delete(id);
    return false;
  }

  return {
    addLink,
    isLink,
    issueLink() {
      const id = randomUUID();
      addLink(id);
      return id;
    },
    issueTicket(id, isTrusted) {
      if (isLink(id)) addLink(id);
      else if (!isTrusted) throw new ProblemError("unauthorized", "this terminal is opened with turnd's token");
      // A link of an earlier turnd, known to a caller who could have asked for a new one.
      else if (!options.isKnown(id) && UUID_V4.test(id)) addLink(id);
      else if (!options.isKnown(id)) throw new ProblemError("session_not_found", `there is no session ${id}`);
      return tickets.issue(id);
    },
    redeem: tickets.redeem,
  };
}
