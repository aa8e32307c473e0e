import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { BrowserLogin, BrowserSession, BrowserState, ProblemError } from "../../../protocol/index.ts";
import { createTokenCheck } from "../auth.ts";
import { cookieName, type BrowserSessions } from "./browser-sessions.ts";
import { readInspectorFiles, type InspectorFile } from "./inspector-files.ts";

export interface InspectorOptions {
  /** Where the built page is; absent: nowhere. */
  readonly pageDirectory?: string;
  readonly sessions: BrowserSessions;
  readonly token: string | undefined;
  readonly version: string;
}

/**
 * The page loads from its own origin alone, cannot be framed, and may make no HTML of text: it shows what models and
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

  const isToken = createTokenCheck(token);
  const look = { schema: { hide, response: { 200: BrowserState } }, config: anyone };
  app.get("/inspector/session", look, async ({ headers }, reply) => {
    const login = token === undefined ? "open" : sessions.isTrusted(headers) ? "done" : "needed";
    return reply.header("cache-control", "no-store").send({ login, version } as const);
  });

  const open = { schema: { hide, body: BrowserLogin, response: { 201: BrowserSession } }, config: anyone };
  app.post("/inspector/session", open, async (request, reply) => {
    if (!isToken(`Bearer ${request.body.token}`)) throw new ProblemError("unauthorized", "that token is not right");
    const { cookie, key, expiresAt } = sessions.open();
    setCookie(request, reply, { value: cookie, maxAgeSeconds: Math.floor(sessions.lifeMs / 1_000) });
    return reply.code(201).header("cache-control", "no-store").send({ key, expires_at: expiresAt.toISOString() });
  });

  app.delete("/inspector/session", { schema: { hide }, config: anyone }, async (request, reply) => {
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

function sendFile(file: InspectorFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const acceptsGzip = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
  const { path, contentType, bytes, gzip } = file;
  reply.headers({ ...HEADERS, "cache-control": path === "/" ? "no-cache" : FOREVER, vary: "accept-encoding" });
  reply.type(contentType);
  if (gzip === undefined || !acceptsGzip) return reply.send(bytes);
  return reply.header("content-encoding", "gzip").send(gzip);
}
