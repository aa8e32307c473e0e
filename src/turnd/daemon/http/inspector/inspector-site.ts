import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { ProblemError } from "../../../protocol/index.ts";
import { OutputHead, OutputOrigin } from "../../../protocol/output-origin.ts";
import type { TurnService } from "../../turns/turn-service.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import { readInspectorFiles, type InspectorFile } from "./inspector-files.ts";
import { loginRoutes } from "./login-routes.ts";

export interface InspectorOptions {
  /** Where the built page is; absent: nowhere. */
  readonly pageDirectory?: string;
  readonly service: Pick<TurnService, "identifyOutput">;
  readonly sessions: BrowserSessions;
  readonly token: string | undefined;
  readonly version: string;
}

/**
 * The page loads only from its own origin, cannot be framed, and may make no HTML of text: it shows what models and
 * programs have written.
 */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
};
/** Their names change with their content. */
const FOREVER = "public, max-age=31536000, immutable";
const anyone = { isPublic: true } as const;
const hide = true;

/**
 * The inspector: `GET /`, what it loads, and the logins of its readers.
 *
 * Anyone may load the page, which holds nothing; what it shows it asks of `/v1`, as everyone does.
 */
export const inspectorSite: FastifyPluginAsyncZod<InspectorOptions> = async (app, options) => {
  const { sessions, token, version } = options;
  const files = options.pageDirectory === undefined ? [] : await readInspectorFiles(options.pageDirectory);
  for (const file of files) {
    app.get(file.path, { config: anyone, schema: { hide } }, async (request, reply) => sendFile(file, request, reply));
  }
  if (files.length === 0) {
    app.get("/", { config: anyone, schema: { hide } }, async () => {
      throw new ProblemError(
        "route_not_found",
        "the inspector is not built: run `npm start`, or `node scripts/setup.mjs`",
      );
    });
  }

  const schema = { hide, body: OutputHead, response: { 200: OutputOrigin } };
  app.post("/inspector/output-origin", { schema }, async ({ body }) => ({
    executor: options.service.identifyOutput(body.lines),
  }));
  await app.register(loginRoutes, { path: "/inspector/session", sessions, token, version });
};

function sendFile(file: InspectorFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const acceptsGzip = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
  const { path, contentType, bytes, gzip } = file;
  reply.headers({ ...HEADERS, "cache-control": path === "/" ? "no-cache" : FOREVER, vary: "accept-encoding" });
  reply.type(contentType);
  if (gzip === undefined || !acceptsGzip) return reply.send(bytes);
  return reply.header("content-encoding", "gzip").send(gzip);
}
