import { timingSafeEqual, createHash } from "node:crypto";
import { BlockList, isIPv6 } from "node:net";
import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { ApiProblem } from "../../protocol/problems.ts";
import type { Storage } from "../../storage/storage.ts";
import { readLoad } from "../load.ts";
import type { Metrics } from "../metrics.ts";
import { refusals } from "../refusals.ts";

export interface MetricsRoutesOptions {
  readonly storage: Storage;
  readonly metrics: Metrics;
  /** Wanted as a Bearer of every scrape. */
  readonly metricsToken: string | undefined;
  /** The service listens on loopback only, and no proxy in front of it is known: then no token is needed. */
  readonly isLocalOnly: boolean;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8);
LOOPBACK.addAddress("::1", "ipv6");
LOOPBACK.addSubnet("::ffff:127.0.0.0", 104, "ipv6");

/** What a proxy adds to what it passes on. */
const PROXY_HEADERS = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"] as const;

/** `/metrics`. */
export const metricsRoutes: FastifyPluginAsyncZod<MetricsRoutesOptions> = async (app, options) => {
  const { storage, metrics, metricsToken, isLocalOnly } = options;
  const schema = {
    tags: ["system"],
    operationId: "getMetrics",
    summary: "Read the metrics, as Prometheus text",
    description:
      "With `SERVICE_METRICS_TOKEN` set, that token as Bearer. Without it only from this machine, and only of a service that listens on loopback.",
    security: [{}, { metrics: [] }],
    response: {
      200: { description: "The metrics.", content: { "text/plain": { schema: z.string() } } },
      ...refusals("unauthorized"),
    },
  };
  app.get("/metrics", { config: { isPublic: true, isUncounted: true }, schema }, async (request, reply) => {
    const isAllowed =
      metricsToken === undefined
        ? isLocalOnly && isDirect(request)
        : isSame(request.headers.authorization, metricsToken);
    if (!isAllowed) {
      throw new ApiProblem("unauthorized", "metrics need SERVICE_METRICS_TOKEN as Bearer, except from this machine");
    }
    const load = await readLoad(storage, (error) => request.log.warn({ err: error }, "metrics without the database"));
    return reply.type(metrics.contentType).send(await metrics.render(load));
  });
};

/** Whether the connection itself comes from this machine, and has no header of a proxy. */
function isDirect({ socket, headers }: FastifyRequest): boolean {
  const address = socket.remoteAddress ?? "";
  const isLoopback = LOOPBACK.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  return isLoopback && PROXY_HEADERS.every((name) => headers[name] === undefined);
}

function isSame(authorization: string | undefined, token: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(authorization ?? ""), digest(`Bearer ${token}`));
}
