import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";
import { nameOnce } from "../../../http-server/openapi/components.ts";
import { Document, type JsonSchema } from "../../../http-server/openapi/document.ts";
import { CliName, ExecutorName, REPLAY, RequestedExecutor } from "../../../protocol/index.ts";

const DESCRIPTION =
  "Runs turns of two coding command-line tools inside a sandbox and serves what they do as one durable, resumable, " +
  'classified stream of events. A refusal is `{"detail":{"code","message",…}}`; in paths a `:` of an id is `%3A`.';

/** The page may load from its own origin only. It sets styles and data: images itself. */
const CSP = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/** The description holds no secret, and who writes a client has no token yet. */
const open = { config: { isPublic: true } };

/** Starts collecting the description of the API. Must be registered before the routes it describes. */
export async function registerOpenApi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: { title: "turnd", version, description: DESCRIPTION },
      components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
      security: [{ token: [] }],
    },
    convertConstToEnum: false,
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  });
}

/** Serves the description at `/openapi.json` and as a page at `/docs`. */
export async function registerDocs(
  app: FastifyInstance,
  executors: readonly string[],
  aliases: readonly string[] = [],
): Promise<void> {
  let document: Document | undefined;
  let text: string | undefined;
  app.get("/openapi.json", { ...open, schema: { hide: true } }, async (_request, reply) => {
    // Rendered once: rendering takes longer than the rest of the request.
    text ??= JSON.stringify((document ??= describeApi(app, executors, aliases)));
    return reply.type("application/json; charset=utf-8").send(text);
  });
  await app.register(async (docs) => {
    docs.addHook("onRoute", (route) => {
      route.config = { ...route.config, ...open.config };
    });
    await docs.register(swaggerUi, {
      routePrefix: "/docs",
      staticCSP: CSP,
      theme: { title: "turnd" },
      uiConfig: { layout: "BaseLayout" },
      transformSpecificationClone: false,
      transformSpecification: () => (document ??= describeApi(app, executors, aliases)),
    });
  });
}

/**
 * The OpenAPI document of an app that is ready.
 *
 * @param executors - ids of the CLIs: the values that their schemas allow
 * @param aliases - what a request may say in place of one
 */
export function describeApi(
  app: FastifyInstance,
  executors: readonly string[],
  aliases: readonly string[] = [],
): Document {
  return listExecutors(nameOnce(Document.parse(app.swagger())), executors, aliases);
}

/** The schemas on the wire take any id of the right form; which ids there are, the daemon's registry decides. */
function listExecutors(api: Document, executors: readonly string[], aliases: readonly string[]): Document {
  const { schemas } = api.components;
  const listed: Record<string, JsonSchema> = {
    CliName: { type: "string", enum: [...executors], description: CliName.description },
    RequestedExecutor: {
      type: "string",
      enum: [...executors, ...aliases],
      description: RequestedExecutor.description,
    },
    ExecutorName: { type: "string", enum: [...executors, REPLAY], description: ExecutorName.description },
  };
  return { ...api, components: { ...api.components, schemas: { ...schemas, ...listed } } };
}
