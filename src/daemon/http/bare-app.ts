import type { Socket } from "node:net";
import fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import { serializerCompiler } from "fastify-type-provider-zod";
import { refuseConnection } from "./client-error.ts";
import { registerJsonBody } from "./json-body.ts";
import { createRoutingRefusal, registerProblems, type RedactText } from "./problem.ts";
import { createHttpLogger, RequestLog } from "./request-log.ts";
import { compileValidator } from "./validation.ts";

export interface BareAppOptions {
  readonly logger: FastifyBaseLogger;
  /** Takes secrets out of what refusals say. */
  readonly redact: RedactText;
  readonly maxBodyBytes: number;
  /** Milliseconds that connections have to end by themselves when the app is closed. */
  readonly closeMs?: number;
}

/** Time-outs of a connection. None counts while turnd answers: waits and streams may last for hours. */
const HEADERS_TIMEOUT_MS = 20_000;
/** How often the two above are looked at; Node's own 30 s would more than double the first. */
const CHECK_EVERY_MS = 5_000;
const REQUEST_TIMEOUT_MS = 120_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** On shutdown, for everything. */
const CLOSE_MS = 2_000;
/** Longer parts of a path are not routed; shorter ones are refused by their schema with what is allowed. */
const MAX_PARAM_LENGTH = 1_024;

/** What every app of turnd has before its guard and its routes: limits, checked JSON, refusals as problems, a log. */
export function createBareApp({ logger, redact, maxBodyBytes, closeMs = CLOSE_MS }: BareAppOptions): FastifyInstance {
  const app = fastify({
    loggerInstance: createHttpLogger(logger),
    logController: new RequestLog(),
    bodyLimit: maxBodyBytes,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: CHECK_EVERY_MS },
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // While streams still end, reads and cancels are answered; admissions are refused as a problem.
    return503OnClosing: false,
    frameworkErrors: createRoutingRefusal(redact),
    clientErrorHandler: refuseConnection,
  });
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(serializerCompiler);
  registerProblems(app, maxBodyBytes, redact);
  registerJsonBody(app);
  const connections = trackConnections(app);
  app.addHook("preClose", async () => {
    // Node counts a connection that has sent nothing yet as busy: clients open such ones in advance.
    for (const connection of connections) if (connection.bytesRead === 0) connection.destroy();
    // A request that never arrives whole, or an answer nobody takes, must not keep turnd from stopping.
    const timer = setTimeout(() => app.server.closeAllConnections(), closeMs);
    timer.unref();
    app.server.once("close", () => clearTimeout(timer));
  });
  return app;
}

function trackConnections(app: FastifyInstance): ReadonlySet<Socket> {
  const connections = new Set<Socket>();
  app.server.on("connection", (connection: Socket) => {
    connections.add(connection);
    connection.once("close", () => connections.delete(connection));
  });
  return connections;
}
