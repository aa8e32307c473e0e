import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { describeTwoHosts, hasTwoHosts } from "../../../../kit/http/one-host.ts";
import { ProblemError, Ticket, TicketRequest } from "../../../protocol/index.ts";
import type { TerminalService } from "../../terminal/terminal-service.ts";
import { createHostCheck, createTokenCheck, type HostRules } from "../auth.ts";
import { createBareApp } from "../bare-app.ts";
import { limitConnections } from "../connections.ts";
import type { BrowserSessions } from "../inspector/browser-sessions.ts";
import { loginRoutes } from "../inspector/login-routes.ts";
import { renderProblem, type RedactText } from "../problem.ts";
import { pathOf } from "../request-path.ts";
import { readTerminalFiles } from "./terminal-files.ts";

export interface TerminalSiteOptions extends HostRules {
  readonly terminal: TerminalService;
  /** `sandbox/terminal`: the page. */
  readonly pageDirectory: string;
  readonly logger: FastifyBaseLogger;
  readonly redact: RedactText;
  /** The logins of the inspector's readers, which are good here too. */
  readonly sessions: BrowserSessions;
  readonly version: string;
}

/** A token may be as long as 4096 characters. */
const BODIES = { long: 8_192, plain: 8_192, values: 100 };
const MAX_CONNECTIONS = 1_000;

/**
 * The page loads from its own origin only and cannot be framed. xterm.js sets styles of its own; its ids and colours
 * are in them. The page shows a program's output, so it must not run anything found in it.
 */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-cache",
};

/**
 * Makes the app of the terminal's own port: the page, its files, its tickets and its WebSocket, all below `/terminal`.
 *
 * Anyone may load the page and its files; the ticket is what opens a shell. The token gives one, or a login, which is the
 * inspector's too.
 */
export async function createTerminalSite(options: TerminalSiteOptions): Promise<FastifyInstance> {
  const { terminal, logger, redact, sessions, token, version } = options;
  const app = createBareApp({ logger, redact, bodies: BODIES });
  limitConnections(app, { max: MAX_CONNECTIONS, hasToken: token !== undefined });
  const typed = app.withTypeProvider<ZodTypeProvider>();
  const checkHost = createHostCheck(options);
  app.addHook("onRequest", async ({ headers }) => checkHost(headers));
  app.addHook("onSend", async (_request, reply) => void reply.headers(HEADERS));

  for (const { path, contentType, bytes } of await readTerminalFiles(options.pageDirectory)) {
    app.get(path, async (_request, reply) => reply.type(contentType).send(bytes));
  }

  await typed.register(loginRoutes, { path: "/terminal/session", sessions, token, version });
  const hasToken = createTokenCheck(token);
  const schema = { body: TicketRequest, response: { 201: Ticket } };
  typed.post("/terminal/tickets", { schema }, async ({ body, headers }, reply) =>
    reply
      .code(201)
      .send(terminal.issueTicket(body.session_id, hasToken(headers.authorization) || sessions.isTrusted(headers))),
  );

  app.server.on("upgrade", (request, socket, head) => {
    if (hasTwoHosts(request.rawHeaders)) {
      answerUpgrade(socket, 400, describeTwoHosts("invalid_request"));
      return;
    }
    try {
      checkHost(request.headers);
      if (pathOf(request.url ?? "") !== "/terminal/ws") {
        throw new ProblemError("route_not_found", "the WebSocket is at /terminal/ws");
      }
      terminal.upgrade(request, socket, head);
      // Authenticated by its ticket.
      app.connections.trust(socket);
    } catch (error) {
      refuseUpgrade(request, socket, error, options);
    }
  });
  return app;
}

function refuseUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  error: unknown,
  { logger, redact }: TerminalSiteOptions,
): void {
  if (!(error instanceof ProblemError)) logger.error({ err: error, path: pathOf(request.url ?? "") }, "upgrade failed");
  const problem =
    error instanceof ProblemError ? error : new ProblemError("internal_error", "turnd failed; its log says why");
  answerUpgrade(socket, problem.status, renderProblem(problem, redact));
}

function answerUpgrade(socket: Duplex, status: number, answer: object): void {
  const body = JSON.stringify(answer);
  const head = `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\n`;
  // A connection that breaks while it is refused needs no answer.
  socket.on("error", () => {});
  // A client that keeps its own end open must not keep the site from closing.
  socket.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`, () =>
    socket.destroy(),
  );
}
