import fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import { serializerCompiler } from "fastify-type-provider-zod";
import { limitBodies, MAX_PUBLIC_BODY_BYTES } from "../../../kit/http/body-limits.ts";
import { createConnectionRefusal } from "../../../kit/http/client-error.ts";
import { CONNECTION_OPTIONS, endConnectionsOnClose } from "../../../kit/http/connections.ts";
import { registerJsonBody } from "../../../kit/http/json-body.ts";
import { requireOneHost } from "../../../kit/http/one-host.ts";
import { RequestLog } from "../../../kit/http/request-log.ts";
import { ProblemError } from "../../protocol/index.ts";
import { compileValidator, createTurndProblems, type RedactText } from "./problem.ts";
import { implyRefusals } from "./refusals.ts";
import { createBodyLimits, type BodyLimits } from "./body-limits.ts";
import { hideFilePath } from "./raw-file-path.ts";
import { loggedPath } from "./request-path.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Its body is large, and limited by its progress. */
    isUpload?: boolean;
  }
}

export interface BareAppOptions {
  readonly logger: FastifyBaseLogger;
  /** Takes secrets out of refusals. */
  readonly redact: RedactText;
  readonly bodies: BodyLimits;
  /** Milliseconds that connections have to end by themselves when the app closes. */
  readonly closeMs?: number;
}

/** Longer parts of a path are not routed; shorter ones are refused by their schema, which names what is allowed. */
const MAX_PARAM_LENGTH = 1_024;

/** What every app of turnd has before its guard and routes: limits, JSON parsing, refusals as problems, a log. */
export function createBareApp({ logger, redact, bodies, closeMs }: BareAppOptions): FastifyInstance {
  const problems = createTurndProblems(redact);
  const app = fastify({
    ...CONNECTION_OPTIONS,
    loggerInstance: createHttpLogger(logger),
    logController: new RequestLog(({ url }) => ({ path: loggedPath(url) })),
    // Counted for each route: an upload may take as long as it makes progress.
    requestTimeout: 0,
    // Of paths that no route has.
    bodyLimit: Math.min(MAX_PUBLIC_BODY_BYTES, bodies.long),
    rewriteUrl: hideFilePath,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    frameworkErrors: problems.send,
    clientErrorHandler: createConnectionRefusal("invalid_request"),
    schemaController: { compilersFactory: { buildValidator: refuseToCompile, buildSerializer: refuseToCompile } },
  });
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(serializerCompiler);
  limitBodyTime(app, CONNECTION_OPTIONS.requestTimeout);
  problems.register(app);
  implyRefusals(app);
  limitBodies(app, createBodyLimits(bodies));
  requireOneHost(app, "invalid_request");
  registerJsonBody(app, (code, message) => new ProblemError(code, message));
  endConnectionsOnClose(app, closeMs);
  return app;
}

/** In place of Fastify's own compilers, so that they are not loaded: every route has those that are set. */
function refuseToCompile(): never {
  throw new Error("a schema was to be compiled before the compilers were set");
}

/** The Authorization header is masked wherever it occurs. */
function createHttpLogger(logger: FastifyBaseLogger): FastifyBaseLogger {
  return logger.child(
    { room: "http" },
    { redact: ["headers.authorization", "req.headers.authorization", "err.request.headers.authorization"] },
  );
}

/** Cuts connections whose request has not arrived in full for so long. An upload may take longer: its route watches it. */
function limitBodyTime(app: FastifyInstance, timeoutMs: number): void {
  app.addHook("onRequest", async ({ raw, routeOptions }) => {
    const hasBody = raw.headers["transfer-encoding"] !== undefined || Number(raw.headers["content-length"] ?? 0) > 0;
    if (!hasBody || routeOptions.config.isUpload === true) return;
    const timer = setTimeout(() => {
      if (!raw.complete) raw.destroy();
    }, timeoutMs);
    timer.unref();
    raw.once("end", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
  });
}
