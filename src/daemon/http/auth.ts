import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ProblemError } from "../../protocol/index.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Answered without a token, for probes. */
    isPublic?: boolean;
  }
}

/** What guards the app. */
export interface GuardOptions {
  /** The bearer token every request needs; without one none is asked for. */
  readonly token?: string | undefined;
  /** The address turnd listens on. */
  readonly host: string;
}

/**
 * Refuses requests without the token, and requests a web page of elsewhere made its reader's browser send.
 *
 * A browser can be led to a loopback address under any name (DNS rebinding), so on a loopback bind only loopback names
 * are good Hosts. A page may send what it likes to where it comes from, and nothing to anywhere else.
 */
export function registerGuard(app: FastifyInstance, options: GuardOptions): void {
  const isAnyHostGood = options.token !== undefined && !isLoopback(options.host);
  const checkToken = options.token === undefined ? undefined : createTokenCheck(options.token);
  app.addHook("onRequest", async (request) => {
    const { host, origin } = request.headers;
    if (!isAnyHostGood && !isLoopbackHost(host)) {
      throw new ProblemError("forbidden_origin", `Host must be a loopback name, got ${quote(host)}`);
    }
    if (origin !== undefined && !isSameHost(origin, host)) {
      throw new ProblemError("forbidden_origin", `Origin must be the host asked, got ${quote(origin)}`);
    }
    if (request.routeOptions.config.isPublic !== true) checkToken?.(request);
  });
}

function createTokenCheck(token: string): (request: FastifyRequest) => void {
  const wanted = digest(token);
  return ({ headers: { authorization } }) => {
    if (authorization === undefined) {
      throw new ProblemError("unauthorized", "send the token as `Authorization: Bearer <token>`");
    }
    const given = /^bearer +(.+)$/i.exec(authorization)?.[1] ?? "";
    // Digests have one length, so the time taken tells nothing of the token, its length included.
    if (!timingSafeEqual(digest(given), wanted))
      throw new ProblemError("unauthorized", "the bearer token is not valid");
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function isLoopbackHost(host: string | undefined): boolean {
  const url = host === undefined ? null : URL.parse(`http://${host}`);
  return url !== null && url.pathname === "/" && url.username === "" && isLoopback(url.hostname);
}

function isLoopback(name: string): boolean {
  return name === "localhost" || name === "::1" || name === "[::1]" || /^127(\.\d{1,3}){3}$/.test(name);
}

/** Host and port must agree: another port of the same machine is another program, such as a server an agent started. */
function isSameHost(origin: string, host: string | undefined): boolean {
  const from = URL.parse(origin);
  if (from === null || host === undefined) return false;
  return from.host !== "" && from.host === URL.parse(`${from.protocol}//${host}`)?.host;
}

function quote(value: string | undefined): string {
  return value === undefined ? "none" : JSON.stringify(value.slice(0, 200));
}
