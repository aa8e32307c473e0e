import type { FastifyInstance } from "fastify";
import { isAddress, isLoopback, isSameHost, quoteHeader, readHostName } from "../../kit/http/host-name.ts";
import { ApiProblem } from "../protocol/problems.ts";

/** Where requests may be sent to, and which pages may send them. */
export interface GuardOptions {
  /** Names besides addresses and those of loopback. */
  readonly hosts: readonly string[];
  readonly publicUrl?: URL | undefined;
  /** Origins whose pages may call. */
  readonly corsOrigins: readonly string[];
}

/** Refuses requests that a foreign page made its reader's browser send, also under a name of its own (DNS rebinding). */
export function registerGuard(app: FastifyInstance, options: GuardOptions): void {
  const names = new Set([...options.hosts, options.publicUrl?.hostname ?? ""].map((name) => name.toLowerCase()));
  const origins = new Set([
    ...options.corsOrigins,
    ...(options.publicUrl === undefined ? [] : [options.publicUrl.origin]),
  ]);
  app.addHook("onRequest", async ({ headers }) => {
    const name = readHostName(headers.host);
    if (name === undefined || !(isLoopback(name) || isAddress(name) || names.has(name))) {
      throw new ApiProblem(
        "forbidden_host",
        `the host ${quoteHeader(headers.host)} is not one of this service's (SERVICE_HOSTS)`,
      );
    }
    const { origin } = headers;
    if (origin !== undefined && !origins.has(origin) && !isSameHost(origin, headers.host)) {
      throw new ApiProblem("forbidden_origin", `pages of ${quoteHeader(origin)} may not call (SERVICE_CORS_ORIGINS)`);
    }
  });
}
