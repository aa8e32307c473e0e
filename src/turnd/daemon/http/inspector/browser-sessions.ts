import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { SESSION_KEY_HEADER } from "../../../protocol/browser-login.ts";
import { createTickets } from "../../terminal/tickets.ts";

/** A login of a browser, as it is given to it: both halves are needed, and neither is kept here. */
export interface NewBrowserSession {
  /** Value of the cookie. A browser sends it to every port of turnd's host. */
  readonly cookie: string;
  /** Sent by the page in a header of its own; only pages of turnd's own origin can read where it is kept. */
  readonly key: string;
  readonly expiresAt: Date;
}

/** The logins of browsers, in memory: they end with turnd. */
export interface BrowserSessions {
  /** How long one lasts, in milliseconds. */
  readonly lifeMs: number;
  open(): NewBrowserSession;
  /** Whether these headers bring both halves of a login that has not expired. */
  isTrusted(headers: IncomingHttpHeaders): boolean;
  /**
   * Gives a ticket by which the page of another port logs in too: good once, and for half a minute.
   *
   * @returns undefined where these headers bring no login
   */
  handOver(headers: IncomingHttpHeaders): string | undefined;
  /** Opens the login that a ticket is for. It lasts as long as the one that gave it, and ends with it. */
  openHandedOver(ticket: string): NewBrowserSession | undefined;
  /** Ends the login of these headers, where they bring both halves of one, with all that it was handed over to. */
  close(headers: IncomingHttpHeaders): void;
}

interface Session {
  readonly key: Buffer;
  readonly expiresAtMs: number;
  /** Logins that were handed over from one to the other. */
  readonly group: string;
}

const LIFE_MS = 12 * 3_600_000;
/** Beyond it the oldest is ended. */
const MAX_SESSIONS = 1_000;
const HAND_OVER_MS = 30_000;
const SECRET_BYTES = 32;

/** Keeps logins by the SHA-256 of their cookie, beside that of their key. */
export function createBrowserSessions({
  now = Date.now,
  lifeMs = LIFE_MS,
}: { readonly now?: () => number; readonly lifeMs?: number } = {}): BrowserSessions {
  /** Oldest first. */
  const sessions = new Map<string, Session>();
  /** Each is for the session with this id. */
  const tickets = createTickets<string>(HAND_OVER_MS);

  function add({ expiresAtMs, group }: Pick<Session, "expiresAtMs" | "group">): NewBrowserSession {
    const [cookie, key] = [secret(), secret()];
    sessions.set(digest(cookie).toString("hex"), { key: digest(key), expiresAtMs, group });
    const [oldest] = sessions.keys();
    if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
    return { cookie, key, expiresAt: new Date(expiresAtMs) };
  }

  function find(headers: IncomingHttpHeaders): string | undefined {
    const key = headers[SESSION_KEY_HEADER];
    const cookie = readCookie(headers);
    if (cookie === undefined || typeof key !== "string") return undefined;
    const id = digest(cookie).toString("hex");
    const session = sessions.get(id);
    if (session === undefined) return undefined;
    if (session.expiresAtMs <= now()) {
      sessions.delete(id);
      return undefined;
    }
    return timingSafeEqual(session.key, digest(key)) ? id : undefined;
  }

  return {
    lifeMs,
    open: () => add({ expiresAtMs: now() + lifeMs, group: secret() }),
    isTrusted: (headers) => find(headers) !== undefined,
    handOver(headers) {
      const id = find(headers);
      return id === undefined ? undefined : tickets.issue(id).ticket;
    },
    openHandedOver(ticket) {
      const giver = sessions.get(tickets.redeem(ticket) ?? "");
      return giver === undefined || giver.expiresAtMs <= now() ? undefined : add(giver);
    },
    close(headers) {
      const group = sessions.get(find(headers) ?? "")?.group;
      for (const [id, session] of sessions) if (session.group === group) sessions.delete(id);
    },
  };
}

/**
 * The name of the cookie. Cookies are shared by all ports of a host, so it has the port that the browser asked: two
 * turnds of one machine do not log each other's readers out.
 */
export function cookieName({ host }: IncomingHttpHeaders): string {
  const port = /:(\d+)$/.exec(host ?? "")?.[1];
  return port === undefined ? "turnd_session" : `turnd_session_${port}`;
}

function readCookie(headers: IncomingHttpHeaders): string | undefined {
  const name = `${cookieName(headers)}=`;
  const parts = (headers.cookie ?? "").split(";").map((part) => part.trim());
  return parts.find((part) => part.startsWith(name))?.slice(name.length);
}

function secret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
