import fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import { serializerCompiler } from "fastify-type-provider-zod";
import { ProblemError } from "../../protocol/index.ts";
import type { TurnService } from "../turns/service.ts";
import { registerGuard } from "./auth.ts";
import { refuseConnection } from "./client-error.ts";
import { eventRoutes } from "./events.ts";
import { executorRoutes } from "./executors.ts";
import { registerJsonBody } from "./json-body.ts";
import { createOpenStreams } from "./open-streams.ts";
import { registerDocs, registerOpenApi } from "./openapi.ts";
import { registerProblems, sendRoutingProblem } from "./problem.ts";
import { createHttpLogger, RequestLog } from "./request-log.ts";
import { sandboxRoutes } from "./sandbox.ts";
import { sessionRoutes } from "./sessions.ts";
import { turnRoutes } from "./turns.ts";
import { compileValidator } from "./validation.ts";

export interface AppOptions {
  readonly service: TurnService;
  /** Bearer token; without one, none is asked for. */
  readonly token?: string | undefined;
  /** The address turnd will listen on: decides which Hosts are good. */
  readonly host: string;
  readonly logger: FastifyBaseLogger;
  readonly maxBodyBytes: number;
  /** Most event streams at once. */
  readonly maxStreams: number;
  /** Silence after which an SSE stream shows that it lives. */
  readonly heartbeatMs: number;
  readonly version: string;
  readonly uptimeMs: () => number;
  /** Once true, nothing more is admitted and `/v1/ready` says no; all else is still answered. */
  readonly isShuttingDown: () => boolean;
}

/** Time-outs of a connection. None counts while turnd answers: waits and streams may last for hours. */
const HEADERS_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 120_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** Connections beyond those of the event streams. */
const MAX_OTHER_CONNECTIONS = 1_000;
/** On shutdown: for the last events of turns that have ended, and for everything. */
const LAST_EVENTS_MS = 1_000;
const CLOSE_MS = 2_000;
const RETRY_AFTER_SECONDS = 5;
/** Longer parts of a path are not routed; shorter ones are refused by their schema with what is allowed. */
const MAX_PARAM_LENGTH = 1_024;

/**
 * Makes the HTTP app. The caller lets it listen, and closes it.
 *
 * Closing ends event streams and waits at once; streams of turns that have ended first send their last events.
 */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { service, isShuttingDown } = options;
  const app = fastify({
    loggerInstance: createHttpLogger(options.logger),
    logController: new RequestLog(),
    bodyLimit: options.maxBodyBytes,
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // While streams still end, reads and cancels are answered; admissions are refused as a problem.
    return503OnClosing: false,
    frameworkErrors: sendRoutingProblem,
    clientErrorHandler: refuseConnection,
  });
  app.server.maxConnections = options.maxStreams + MAX_OTHER_CONNECTIONS;
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(serializerCompiler);
  registerProblems(app, options.maxBodyBytes);
  registerGuard(app, options);
  registerJsonBody(app);

  const streams = createOpenStreams(options.maxStreams);
  closeStreamsWith(app, streams, service);
  const refuseWhenStopping = (): void => {
    if (!isShuttingDown() && !streams.closing.aborted) return;
    throw new ProblemError("shutting_down", "turnd is shutting down; try again later", {}, RETRY_AFTER_SECONDS);
  };

  await registerOpenApi(app, options.version);
  await app.register(turnRoutes, { service, closing: streams.closing, refuseWhenStopping });
  await app.register(eventRoutes, { service, streams, heartbeatMs: options.heartbeatMs });
  await app.register(sessionRoutes, { service, refuseWhenStopping });
  await app.register(executorRoutes, { service });
  await app.register(sandboxRoutes, { ...options });
  await registerDocs(app);
  return app;
}

function closeStreamsWith(
  app: FastifyInstance,
  streams: ReturnType<typeof createOpenStreams>,
  service: TurnService,
): void {
  app.addHook("preClose", async () => {
    // A request that never arrives whole, or an answer nobody takes, must not keep turnd from stopping.
    const timer = setTimeout(() => app.server.closeAllConnections(), CLOSE_MS);
    timer.unref();
    app.server.once("close", () => clearTimeout(timer));
    await streams.closeAll((turnId) => hasEnded(service, turnId), LAST_EVENTS_MS);
  });
}

function hasEnded(service: TurnService, turnId: string): boolean {
  try {
    const { status } = service.getTurn(turnId);
    return status !== "queued" && status !== "running";
  } catch {
    // A deleted turn has nothing more to send.
    return false;
  }
}
