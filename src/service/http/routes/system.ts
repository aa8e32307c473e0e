import { SandboxKind } from "../../protocol/sandboxes.ts";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import type { KnowledgeEngines } from "../../knowledge/knowledge.ts";
import type { Caller } from "../../auth/caller.ts";
import { mayAll, PERMISSIONS } from "../../auth/permissions.ts";
import { refusals } from "../refusals.ts";

/** A part the service needs, and whether it works. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** For all callers, without a credential: no address, no path, no output of a program that failed. */
  readonly message?: string;
  /** The same for superadmins: with every detail. */
  readonly detail?: string;
}

export interface SystemOptions {
  readonly version: string;
  readonly info: () => Promise<{
    capabilities: readonly string[];
    sandbox: z.infer<typeof SandboxFacts>;
    limits: Readonly<Record<string, number>>;
    warnings: readonly string[];
  }>;
  readonly knowledge: { engines(): KnowledgeEngines };
  /** Looks at everything the service needs. */
  readonly look: () => Promise<readonly Check[]>;
  /** Who calls; undefined: no valid credential. Absent where a process has no callers. */
  readonly recognise?: ((authorization: string | undefined) => Promise<Caller | undefined>) | undefined;
}

const tags = ["system"];
const open = { config: { isPublic: true, isUncounted: true } };

const Health = z.strictObject({ status: z.literal("ok") }).meta({ id: "Health" });
const Engines = z
  .strictObject({
    lexical: z.string(),
    vectors: z.string(),
    ocr: z.string().nullable(),
    converter: z.string().nullable(),
    embedding: z.string().nullable(),
    rerank: z.string().nullable(),
  })
  .meta({ id: "KnowledgeEngines", description: "The engines of the knowledge base; null is what there is none of." });
const Ready = z
  .strictObject({
    ready: z.boolean(),
    checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), message: z.string().optional() })),
    knowledge: Engines,
  })
  .meta({ id: "Ready" });
const SandboxFacts = z
  .strictObject({
    kind: SandboxKind,
    shared_by: z.enum(["all_users", "threads_of_a_user", "none"]).meta({
      description: "Which turns share one; none: each thread has its own.",
    }),
  })
  .meta({ id: "SandboxFacts", description: "Where turns run." });
const Info = z
  .strictObject({
    name: z.literal("svc"),
    version: z.string(),
    api_version: z.literal(1),
    capabilities: z.array(z.string()),
    sandbox: SandboxFacts,
    limits: z.record(z.string(), z.number()),
    warnings: z.array(z.string()),
    knowledge: Engines,
  })
  .meta({ id: "Info" });

/** What probes and clients ask before anything else; no credential. */
export const systemRoutes: FastifyPluginAsyncZod<SystemOptions> = async (app, options) => {
  const { version, info, look, recognise, knowledge } = options;
  const health = {
    tags,
    operationId: "getHealth",
    summary: "Ask whether the process answers",
    description: "Answers while the process runs, whatever else is down.",
    security: [],
    response: { 200: Health, ...refusals() },
  };
  app.get("/api/system/health", { ...open, schema: health }, async () => ({ status: "ok" as const }));

  const ready = {
    tags,
    operationId: "getReady",
    summary: "Ask whether all that a run needs is there",
    description:
      "Looks at the database, the disk, the workers and their sandboxes. Messages are for all callers; with a superadmin's credential they have every detail.",
    security: [],
    response: {
      ...refusals(),
      200: Ready,
      503: { description: "Not now; `checks` has the reasons.", content: { "application/json": { schema: Ready } } },
    },
  };
  app.get("/api/system/ready", { ...open, schema: ready }, async ({ headers }, reply) => {
    const checks = await look();
    const isReady = checks.every(({ ok }) => ok);
    // Only where it makes a difference: a probe costs no look at a credential.
    const caller = checks.some(({ detail }) => detail !== undefined)
      ? await recognise?.(headers.authorization)
      : undefined;
    const isOperator = caller !== undefined && mayAll(caller, PERMISSIONS.readFaults);
    return reply.code(isReady ? 200 : 503).send({
      ready: isReady,
      checks: checks.map(({ detail, ...check }) =>
        isOperator && detail !== undefined ? { ...check, message: detail } : check,
      ),
      knowledge: { ...knowledge.engines() },
    });
  });

  const about = {
    tags,
    operationId: "getInfo",
    summary: "Ask what this service is",
    description: "Version, capabilities, limits, and warnings of the start.",
    security: [],
    response: { 200: Info, ...refusals() },
  };
  app.get("/api/system/info", { ...open, schema: about }, async () => {
    const { capabilities, sandbox, limits, warnings } = await info();
    return {
      name: "svc" as const,
      version,
      api_version: 1 as const,
      capabilities: [...capabilities],
      sandbox,
      limits: { ...limits },
      warnings: [...warnings],
      knowledge: { ...knowledge.engines() },
    };
  });
};
