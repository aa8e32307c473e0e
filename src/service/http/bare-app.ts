import { parse } from "node:querystring";
import fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import { serializerCompiler } from "fastify-type-provider-zod";
import { bodyLimitOf, limitBodies } from "../../kit/http/body-limits.ts";
import { createConnectionRefusal } from "../../kit/http/client-error.ts";
import { CONNECTION_OPTIONS, endConnectionsOnClose } from "../../kit/http/connections.ts";
import { registerJsonBody } from "../../kit/http/json-body.ts";
import { requireOneHost } from "../../kit/http/one-host.ts";
import { RequestLog } from "../../kit/http/request-log.ts";
import { ApiProblem } from "../protocol/problems.ts";
import { createBodyLimits, type BodyLimits } from "./body-limits.ts";
import { compileValidator, problems } from "./problem.ts";
import { implyRefusals } from "./refusals.ts";
import { traceFields } from "../runs/state/trace-id.ts";
import { readTraceparent } from "../../kit/http/traceparent.ts";

export interface BareAppOptions {
  readonly logger: FastifyBaseLogger;
  readonly bodies: BodyLimits;
  readonly maxStreams: number;
  /** Proxies in front, counted from the right. */
  readonly trustedProxies: number;
}

const MAX_PARAM_LENGTH = 1_024;
/** Connections beyond those of the event streams. */
const MAX_OTHER_CONNECTIONS = 1_000;

/** An app without routes: limits, bodies, validation and problems. */
export function createBareApp(options: BareAppOptions): FastifyInstance {
  const app = fastify({
    ...CONNECTION_OPTIONS,
    loggerInstance: options.logger.child({ room: "http" }),
    logController: new RequestLog(({ routeOptions }) => ({ route: routeOptions.url })),
    childLoggerFactory: (logger, bindings, childOptions, { headers }) =>
      logger.child({ ...bindings, ...traceFields(readTraceparent(headers.traceparent)) }, childOptions),
    // Of paths that no route has.
    bodyLimit: Math.min(options.bodies.public, options.bodies.long),
    trustProxy: (_address: string, hop: number) => hop < options.trustedProxies,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, ignoreTrailingSlash: true },
    exposeHeadRoutes: false,
    frameworkErrors: problems.send,
    clientErrorHandler: createConnectionRefusal("invalid_json"),
  });
  app.server.maxConnections = options.maxStreams + MAX_OTHER_CONNECTIONS;
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(serializerCompiler);
  problems.register(app);
  implyRefusals(app);
  limitBodies(app, createBodyLimits(options.bodies));
  requireOneHost(app, "invalid_json");
  registerJsonBody(app, (code, message) => new ApiProblem(code, message));
  registerFormBody(app);
  endConnectionsOnClose(app);
  return app;
}

const AMPERSAND = 0x26;

/** Accepts forms besides JSON; the token route's clients send them. */
function registerFormBody(app: FastifyInstance): void {
  app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "buffer" }, (request, body, done) => {
    const { values } = bodyLimitOf(request);
    if (typeof body === "string" || countPairs(body, values) > values) {
      done(new ApiProblem("body_too_large", `the form has more than ${values} pairs`));
      return;
    }
    done(null, parse(body.toString("utf8"), "&", "=", { maxKeys: 0 }));
  });
}

/** At most one more than `most`. */
function countPairs(form: Buffer, most: number): number {
  let pairs = 1;
  for (let at = form.indexOf(AMPERSAND); at !== -1 && pairs <= most; at = form.indexOf(AMPERSAND, at + 1)) pairs += 1;
  return pairs;
}
