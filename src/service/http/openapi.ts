import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";
import { completeDocument } from "./describe/document.ts";
import { TAGS } from "./describe/operations.ts";

const DESCRIPTION =
  "Hosts agents by slug, keeps threads, runs them on turnd, and serves each run's events as one durable, resumable stream. " +
  'A refusal is `{"detail":{"code","message",…}}`; a request that does not validate is 422 with a list of fields.';

/** Where the page may load from: only from this server. */
const CSP = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";
const open = { config: { isPublic: true, isUncounted: true } };

/** Begins the description of the API. Must be registered before the routes it describes. */
export async function registerOpenApi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Agent service",
        version,
        description: DESCRIPTION,
        contact: { name: "The operators of this service" },
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      servers: [{ url: "/", description: "Where this description comes from" }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          bearer: {
            type: "http",
            scheme: "bearer",
            description: "An API key (`svkey_…`) or a JWT of `/api/auth/token`.",
          },
          metrics: { type: "http", scheme: "bearer", description: "`SERVICE_METRICS_TOKEN`." },
        },
      },
      security: [{ bearer: [] }],
    },
    convertConstToEnum: false,
    transform: jsonSchemaTransform,
    transformObject: (input) => completeDocument(jsonSchemaTransformObject(input)),
  });
}

/** Serves the description at `/openapi.json` and as a page at `/docs`. */
export async function registerDocs(app: FastifyInstance): Promise<void> {
  app.get("/openapi.json", { ...open, schema: { hide: true } }, async () => app.swagger());
  await app.register(async (docs) => {
    docs.addHook("onRoute", (route) => {
      route.config = { ...route.config, ...open.config };
    });
    await docs.register(swaggerUi, {
      routePrefix: "/docs",
      staticCSP: CSP,
      theme: { title: "Agent service" },
      uiConfig: { layout: "BaseLayout" },
    });
  });
}
