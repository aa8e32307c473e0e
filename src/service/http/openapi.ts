import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import { jsonSchemaTransformObject } from "fastify-type-provider-zod";
import { describeRoute } from "../../kit/http/openapi/describe-route.ts";
import { completeDocument } from "./describe/document.ts";

const DESCRIPTION =
  "Hosts agents by slug, keeps threads, runs them on turnd, and serves each run's events as one durable, resumable stream. " +
  'A refusal is `{"detail":{"code","message",…}}`; a request that does not validate is 422 with a list of fields.';

/** The groups of routes. */
const TAGS: Readonly<Record<string, string>> = {
  system: "Health, readiness and what this service is.",
  auth: "Logging in, and who one is.",
  users: "Users, departments and the audit.",
  keys: "API keys.",
  cli: "Logging a command-line client in, approved by a person in a browser.",
  agents: "What runs work with.",
  threads: "Conversations, and what waits in them.",
  runs: "Runs and their events.",
  requests: "Accepted requests, before and after they have a run.",
  "agent-calls": "Agents called with OpenAI-style messages.",
  evaluations: "Runs of evaluation samples.",
  "knowledge-bases": "Records of knowledge bases, for those who manage them.",
  "knowledge-files": "Originals, before they are documents of a knowledge base.",
  "knowledge-documents": "Documents of a knowledge base: add, parse, index, read back, delete.",
  "knowledge-queries": "Queries over knowledge bases, for every user who may read them.",
  tasks: "Background work.",
  webhooks: "Subscriptions to the ends of runs.",
  usage: "What runs have cost.",
};

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
    transform: describeRoute,
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
