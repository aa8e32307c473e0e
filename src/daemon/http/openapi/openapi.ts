import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";
import { nameOnce } from "../../../http-server/openapi/components.ts";
import { describeDefaults } from "../../../http-server/openapi/defaults.ts";
import { addDiscriminators } from "../../../http-server/openapi/discriminators.ts";
import { Document, type JsonSchema } from "../../../http-server/openapi/document.ts";
import { CliName, ExecutorName, REPLAY, RequestedExecutor } from "../../../protocol/index.ts";
import { addExamples } from "./examples.ts";

const DESCRIPTION =
  "Runs turns of two coding command-line tools inside a sandbox and serves what they do as one durable, resumable, " +
  'classified stream of events. A refusal is `{"detail":{"code","message",…}}`; in paths a `:` of an id is `%3A`.';

/** The groups of routes. */
const TAGS: Readonly<Record<string, string>> = {
  turns: "Turns: submit, follow, cancel, and read what they have left.",
  sessions: "Conversations that survive turns and restarts.",
  replays: "Recordings of turns, and turns that play them.",
  files: "The workspace of a session.",
  executors: "The CLIs that run turns.",
  tickets: "One request without the token, for a browser's EventSource.",
  sandbox: "The machine, its health, readiness and metrics.",
  shell: "Shells in a terminal.",
};

/** The page may load from its own origin only. It sets styles and data: images itself. */
const CSP = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/** The description holds no secret, and who writes a client has no token yet. */
const open = { config: { isPublic: true } };

/** Starts collecting the description of the API. Must be registered before the routes it describes. */
export async function registerOpenApi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "turnd",
        version,
        description: DESCRIPTION,
        contact: { name: "The operators of this turnd" },
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      servers: [{ url: "/", description: "Where this description comes from" }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: { token: { type: "http", scheme: "bearer", description: "`TURND_TOKEN`, where one is set." } },
      },
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
  const named = nameOnce(Document.parse(app.swagger()));
  const document = addDiscriminators(listExecutors(named, executors, aliases));
  // The last step: an example has the default where there is one.
  return describeDefaults(addExamples(document));
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
