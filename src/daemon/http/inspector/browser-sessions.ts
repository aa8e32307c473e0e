import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { SESSION_KEY_HEADER } from "../../../protocol/index.ts";

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
  /** Ends the login of these headers, where they bring both halves of one. */
  close(headers: IncomingHttpHeaders): void;
}

const LIFE_MS = 12 * 3_600_000;
/** Beyond it the oldest is ended. */
const MAX_SESSIONS = 1_000;
const SECRET_BYTES = 32;

/** Keeps logins by the SHA-256 of their cookie, beside that of their key. */
export function createBrowserSessions({
  now = Date.now,
  lifeMs = LIFE_MS,
}: { readonly now?: () => number; readonly lifeMs?: number } = {}): BrowserSessions {
  /** Oldest first. */
  const sessions = new Map<string, { readonly key: Buffer; readonly expiresAtMs: number }>();

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
    open() {
      const [cookie, key] = [secret(), secret()];
      const expiresAtMs = now() + lifeMs;
      sessions.set(digest(cookie).toString("hex"), { key: digest(key), expiresAtMs });
      const [oldest] = sessions.keys();
      if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
      return { cookie, key, expiresAt: new Date(expiresAtMs) };
    },
    isTrusted: (headers) => find(headers) !== undefined,
    close(headers) {
      const id = find(headers);
      if (id !== undefined) sessions.delete(id);
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
