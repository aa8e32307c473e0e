import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { BrowserHandOver, BrowserLogin, BrowserSession, BrowserState } from "../../../protocol/browser-login.ts";
import { ProblemError } from "../../../protocol/index.ts";
import { createTokenCheck } from "../auth.ts";
import { cookieName, type BrowserSessions, type NewBrowserSession } from "./browser-sessions.ts";

export interface LoginRoutesOptions {
  /** `/inspector/session`; the terminal's page has its own port, and so its own path. */
  readonly path: string;
  readonly sessions: BrowserSessions;
  readonly token: string | undefined;
  readonly version: string;
}

const anyone = { isPublic: true } as const;
const hide = true;

/** The logins of a page's readers, by the token or by a ticket that another page of this turnd has given. */
export const loginRoutes: FastifyPluginAsyncZod<LoginRoutesOptions> = async (app, options) => {
  const { path, sessions, token, version } = options;
  const isToken = createTokenCheck(token);

  const look = { schema: { hide, response: { 200: BrowserState } }, config: anyone };
  app.get(path, look, async ({ headers }, reply) => {
    const login = token === undefined ? "open" : sessions.isTrusted(headers) ? "done" : "needed";
    return reply.header("cache-control", "no-store").send({ login, version } as const);
  });

  function open(given: BrowserLogin): NewBrowserSession {
    if ("ticket" in given) {
      const opened = sessions.openHandedOver(given.ticket);
      if (opened === undefined) throw new ProblemError("unauthorized", "that ticket is not valid: each is good once");
      return opened;
    }
    if (!isToken(`Bearer ${given.token}`)) throw new ProblemError("unauthorized", "that token is not right");
    return sessions.open();
  }

  const logIn = { schema: { hide, body: BrowserLogin, response: { 201: BrowserSession } }, config: anyone };
  app.post(path, logIn, async (request, reply) => {
    const { cookie, key, expiresAt } = open(request.body);
    setCookie(request, reply, { value: cookie, maxAgeSeconds: Math.floor(sessions.lifeMs / 1_000) });
    return reply.code(201).header("cache-control", "no-store").send({ key, expires_at: expiresAt.toISOString() });
  });

  const give = { schema: { hide, response: { 201: BrowserHandOver } }, config: anyone };
  app.post(`${path}/ticket`, give, async ({ headers }, reply) => {
    const ticket = sessions.handOver(headers);
    if (ticket === undefined) throw new ProblemError("unauthorized", "only a page that is logged in hands that over");
    return reply.code(201).header("cache-control", "no-store").send({ ticket });
  });

  app.delete(path, { schema: { hide }, config: anyone }, async (request, reply) => {
    sessions.close(request.headers);
    setCookie(request, reply, { value: "", maxAgeSeconds: 0 });
    return reply.code(204).send();
  });
};

function setCookie(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { value, maxAgeSeconds }: { readonly value: string; readonly maxAgeSeconds: number },
): void {
  // turnd itself speaks HTTP; that the browser speaks HTTPS to a proxy before it shows in where the page comes from.
  const secure = headers.origin?.startsWith("https://") === true ? "; Secure" : "";
  const limits = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${secure}`;
  reply.header("set-cookie", `${cookieName(headers)}=${value}; ${limits}`);
}
