import fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import { serializerCompiler } from "fastify-type-provider-zod";
import { registerBodies } from "./body.ts";
import { registerProblems, sendRoutingError } from "./problem.ts";
import { traceFields } from "../runs/trace-id.ts";
import { RequestLog } from "./request-log.ts";
import { readTraceparent } from "./traceparent.ts";
import { compileValidator } from "./validation.ts";

export interface BareAppOptions {
  readonly logger: FastifyBaseLogger;
  readonly maxBodyBytes: number;
  readonly maxStreams: number;
  /** Proxies in front, counted from the right. */
  readonly trustedProxies: number;
}

const HEADERS_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 120_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** On shutdown, for everything. */
const CLOSE_MS = 2_000;
const MAX_PARAM_LENGTH = 1_024;
/** Connections beyond those of the event streams. */
const MAX_OTHER_CONNECTIONS = 1_000;

/** An app without routes: limits, bodies, validation and problems. */
export async function createBareApp(options: BareAppOptions): Promise<FastifyInstance> {
  const app = fastify({
    loggerInstance: options.logger.child({ room: "http" }),
    logController: new RequestLog(),
    childLoggerFactory: (logger, bindings, childOptions, { headers }) =>
      logger.child({ ...bindings, ...traceFields(readTraceparent(headers.traceparent)) }, childOptions),
    bodyLimit: options.maxBodyBytes,
    trustProxy: (_address: string, hop: number) => hop < options.trustedProxies,
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, ignoreTrailingSlash: true },
    exposeHeadRoutes: false,
    return503OnClosing: false,
    frameworkErrors: sendRoutingError,
  });
  app.server.maxConnections = options.maxStreams + MAX_OTHER_CONNECTIONS;
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(serializerCompiler);
  registerProblems(app, options.maxBodyBytes);
  await registerBodies(app);
  app.addHook("preClose", async () => {
    // A request that never arrives whole, or an answer nobody takes, must not keep the service from stopping.
    const timer = setTimeout(() => app.server.closeAllConnections(), CLOSE_MS);
    timer.unref();
    app.server.once("close", () => clearTimeout(timer));
  });
  return app;
}
