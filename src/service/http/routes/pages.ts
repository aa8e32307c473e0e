import type { FastifyReply } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { CLI_HTML, CLI_SCRIPT, CLI_STYLE } from "../pages/cli-page.ts";
import { KB_HTML, KB_STYLE } from "../pages/kb-page.ts";
import { KB_SCRIPT } from "../pages/kb-script.ts";
import { refusals } from "../refusals.ts";

/** Only what this service serves itself, in no frame, and forms that go nowhere by themselves. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const open = { config: { isPublic: true, isUncounted: true } };
const hidden = { ...open, schema: { hide: true } };

const Index = z
  .strictObject({
    name: z.literal("svc"),
    version: z.string(),
    kb: z.string().meta({ description: "The page of the knowledge bases, where a browser is sent." }),
    docs: z.string(),
    openapi: z.string(),
    health: z.string(),
    ready: z.string(),
    info: z.string(),
  })
  .meta({ id: "Index" });

/** The index at `/`, the page of the knowledge bases, and the one that approves a login. */
export const pageRoutes: FastifyPluginAsyncZod<{ version: string }> = async (app, { version }) => {
  const index = {
    tags: ["system"],
    summary: "Find the way around",
    security: [],
    response: { 200: Index, ...refusals() },
  };
  app.get("/", { ...open, schema: index }, async (request, reply) => {
    if (request.headers.accept?.includes("text/html") === true) return reply.redirect("/kb");
    return {
      name: "svc" as const,
      version,
      kb: "/kb",
      docs: "/docs",
      openapi: "/openapi.json",
      health: "/api/system/health",
      ready: "/api/system/ready",
      info: "/api/system/info",
    };
  });
  app.get("/kb", hidden, async (_request, reply) => send(reply, "text/html; charset=utf-8", KB_HTML));
  app.get("/kb/page.js", hidden, async (_request, reply) => send(reply, "text/javascript; charset=utf-8", KB_SCRIPT));
  app.get("/kb/page.css", hidden, async (_request, reply) => send(reply, "text/css; charset=utf-8", KB_STYLE));
  app.get("/cli", hidden, async (_request, reply) => send(reply, "text/html; charset=utf-8", CLI_HTML));
  app.get("/cli/page.js", hidden, async (_request, reply) => send(reply, "text/javascript; charset=utf-8", CLI_SCRIPT));
  app.get("/cli/page.css", hidden, async (_request, reply) => send(reply, "text/css; charset=utf-8", CLI_STYLE));
};

function send(reply: FastifyReply, type: string, text: string): FastifyReply {
  return reply
    .headers({
      "content-security-policy": CSP,
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      // The address holds the code.
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    })
    .type(type)
    .send(text);
}
