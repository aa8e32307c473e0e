import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance, RouteOptions } from "fastify";
import { jsonSchemaTransformObject } from "fastify-type-provider-zod";
import { nameOnce } from "../../../../kit/http/openapi/components.ts";
import { describeDefaults } from "../../../../kit/http/openapi/defaults.ts";
import { describeRoute } from "../../../../kit/http/openapi/describe-route.ts";
import { addDiscriminators } from "../../../../kit/http/openapi/discriminators.ts";
import { Document, type JsonSchema } from "../../../../kit/http/openapi/document.ts";
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

/** What describes the API of another app. */
export interface DocumentedRoutes {
  /** Of the other app, as its hook `onRoute` reports them. */
  readonly routes: readonly RouteOptions[];
  readonly version: string;
  /** Ids of the CLIs: the values that their schemas allow. */
  readonly executors: readonly string[];
  /** What a request may say in place of one. */
  readonly aliases: readonly string[];
}

/** The description of an app, and the app that answers below `/docs`. */
export interface Documentation {
  readonly document: Document;
  readonly app: FastifyInstance;
}

/**
 * Describes routes, and serves the description as a page.
 *
 * @param app - a bare one; it gets the same routes, which only the description uses, and is not to listen
 */
export async function describeRoutes(app: FastifyInstance, documented: DocumentedRoutes): Promise<Documentation> {
  const { routes, version, executors, aliases } = documented;
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
    transform: describeRoute,
    transformObject: jsonSchemaTransformObject,
  });
  for (const { method, url, schema } of routes) {
    // The HEAD that Fastify adds to each GET is not described; one of a route's own is in a list.
    if (method === "HEAD" || schema === undefined || schema.hide === true) continue;
    app.route({ method, url, schema, exposeHeadRoute: false, handler: () => undefined });
  }
  const described: { document?: Document } = {};
  await app.register(swaggerUi, {
    routePrefix: "/docs",
    staticCSP: CSP,
    theme: { title: "turnd" },
    uiConfig: { layout: "BaseLayout" },
    transformSpecificationClone: false,
    transformSpecification: () => described.document ?? {},
  });
  await app.ready();
  const made = nameOnce(Document.parse(app.swagger()));
  const named = addDiscriminators(listExecutors(made, executors, aliases));
  // The last step: an example has the default where there is one.
  const document = describeDefaults(addExamples(named));
  described.document = document;
  return { document, app };
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
