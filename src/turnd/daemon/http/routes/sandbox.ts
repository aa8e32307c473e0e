import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { Health, Readiness, SandboxEnvelope } from "../../../protocol/index.ts";
import type { TurnService } from "../../turns/turn-service.ts";
import { refusals } from "../refusals.ts";

export interface SandboxRoutesOptions {
  readonly service: TurnService;
  readonly version: string;
  /** Milliseconds since turnd started. */
  readonly uptimeMs: () => number;
  readonly isShuttingDown: () => boolean;
}

const tags = ["sandbox"];
const STOPPING: Readiness = {
  ready: false,
  checks: [{ name: "running", ok: false, message: "turnd is shutting down" }],
};
/** For probes, which have no token. */
const open = { config: { isPublic: true } };

/** `/v1/sandbox`, `/v1/token`, `/v1/health` and `/v1/ready`. */
export const sandboxRoutes: FastifyPluginAsyncZod<SandboxRoutesOptions> = async (app, options) => {
  const { service, version, uptimeMs, isShuttingDown } = options;

  const sandbox = {
    tags,
    operationId: "getSandbox",
    summary: "Look at the sandbox",
    description: "Versions, directories, users and limits of the machine that turnd runs in.",
    response: { 200: SandboxEnvelope, ...refusals() },
  };
  app.get("/v1/sandbox", { schema: sandbox }, async () => ({ success: true, message: "ok", data: service.sandbox() }));

  const token = {
    tags,
    operationId: "checkToken",
    summary: "Ask whether the token is right",
    description: "204 with the right token, or where none is needed; otherwise 401.",
    response: { 204: z.undefined().describe("It is, or none is needed."), ...refusals() },
  };
  app.get("/v1/token", { schema: token }, async (_request, reply) => reply.code(204).send());

  const health = {
    tags,
    operationId: "getHealth",
    summary: "Ask whether the daemon answers",
    description: "For a probe of liveness. Needs no token, and looks at nothing else.",
    security: [],
    response: { 200: Health, ...refusals() },
  };
  app.get("/v1/health", { ...open, schema: health }, async () => {
    return { status: "ok" as const, version, uptime_ms: Math.round(uptimeMs()) };
  });

  const ready = {
    tags,
    operationId: "getReadiness",
    summary: "Ask whether a turn could run now",
    description: "For a probe of readiness. Needs no token. 503 while turnd shuts down as well.",
    security: [],
    response: {
      200: Readiness,
      503: {
        description: "Not now; `checks` has the reason.",
        content: { "application/json": { schema: Readiness } },
      },
      ...refusals(),
    },
  };
  /** Ends checks that are under way when turnd has to stop. */
  async function look(): Promise<Readiness> {
    if (isShuttingDown()) return STOPPING;
    try {
      return await service.readiness();
    } catch (error) {
      if (isShuttingDown()) return STOPPING;
      throw error;
    }
  }
  app.get("/v1/ready", { ...open, schema: ready }, async (_request, reply) => {
    const readiness = await look();
    return reply.code(readiness.ready ? 200 : 503).send(readiness);
  });
};
