import type { FastifyReply } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { readBrowserFiles } from "../pages/browser-files.ts";
import { CLI_HTML } from "../pages/cli-page.ts";
import { KB_HTML } from "../pages/kb-page.ts";
import { refusals } from "../refusals.ts";

/** Only what this service serves itself, in no frame, and forms that are not submitted by the browser. */
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
    operationId: "getIndex",
    summary: "Find the way around",
    description: "A browser is sent to `/docs`.",
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
  for (const [path, html] of Object.entries({ "/kb": KB_HTML, "/cli": CLI_HTML }))
    app.get(path, hidden, async (_request, reply) => send(reply, "text/html; charset=utf-8", html));
  for (const { path, type, text } of await readBrowserFiles())
    app.get(path, hidden, async (_request, reply) => send(reply, type, text));
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
