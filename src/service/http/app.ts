import cors from "@fastify/cors";
import type { FastifyInstance } from "fastify";
import { ApiProblem } from "../protocol/problems.ts";
import type { AgentTools } from "../agent-tools/agent-tools.ts";
import type { Agents } from "../agents/agents.ts";
import type { Auth } from "../auth/auth.ts";
import type { Calls } from "../calls/calls.ts";
import type { RunEvents } from "../runs/read/events.ts";
import type { Runs } from "../runs/runs.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { Threads } from "../threads/threads.ts";
import type { Storage } from "../storage/storage.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import { createBareApp, type BareAppOptions } from "./bare-app.ts";
import { registerCallers } from "./callers.ts";
import type { Knowledge } from "../knowledge/knowledge.ts";
import { registerGuard, type GuardOptions } from "./guard.ts";
import { registerKnowledgeGates } from "./knowledge-gate.ts";
import { registerDocs, registerOpenApi } from "./openapi.ts";
import { agentToolRoutes } from "./routes/agent-tools.ts";
import { agentRoutes } from "./routes/agents.ts";
import { authRoutes } from "./routes/auth.ts";
import { callRoutes } from "./routes/calls.ts";
import { cliSessionRoutes } from "./routes/cli-sessions.ts";
import { keyRoutes } from "./routes/keys.ts";
import { metricsRoutes, type MetricsRoutesOptions } from "./routes/metrics.ts";
import { pageRoutes } from "./routes/pages.ts";
import { knowledgeBaseRoutes } from "./routes/knowledge-bases.ts";
import { knowledgeDocumentRoutes } from "./routes/knowledge-documents.ts";
import { knowledgeQueryRoutes } from "./routes/knowledge-queries.ts";
import { knowledgeUploadRoutes } from "./routes/knowledge-uploads.ts";
import { runRoutes } from "./routes/runs.ts";
import { systemRoutes, type SystemOptions } from "./routes/system.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { threadRoutes } from "./routes/threads.ts";
import { usageRoutes } from "./routes/usage.ts";
import { userRoutes } from "./routes/users.ts";
import { webhookRoutes } from "./routes/webhooks.ts";
import { createStreams } from "./streams.ts";

export interface AppOptions extends BareAppOptions, GuardOptions, SystemOptions, MetricsRoutesOptions {
  readonly storage: Storage;
  readonly auth: Auth;
  readonly agents: Agents;
  readonly threads: Threads;
  readonly runs: Runs;
  readonly calls: Calls;
  readonly tasks: Tasks;
  readonly knowledge: Knowledge;
  readonly agentTools: AgentTools;
  readonly webhooks: Webhooks;
  readonly events: RunEvents;
  readonly maxStreamsOfUser: number;
  readonly heartbeatMs: number;
  /** Between two looks at whether a stream's caller may still read. */
  readonly checkMs: number;
  readonly streamMaxMs: number;
  readonly ratePerCredential: number;
  readonly ratePerAddress: number;
  /** Once true nothing more is admitted; reading goes on. */
  readonly isShuttingDown: () => boolean;
}

/** Makes the HTTP app. The caller lets it listen, and closes it. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const app = createBareApp(options);
  registerGuard(app, options);
  await app.register(cors, {
    origin: [...options.corsOrigins],
    methods: ["GET", "POST", "PUT", "DELETE"],
    // What is no preflight gets the same answer, not a refusal in other words than ours.
    strictPreflight: false,
    exposedHeaders: ["retry-after", "x-lock-remaining", "location"],
    maxAge: 600,
  });
  await registerCallers(app, {
    credentials: options.auth.credentials,
    perCredential: options.ratePerCredential,
    perAddress: options.ratePerAddress,
  });
  app.addHook("onRequest", async ({ method }) => {
    if (!options.isShuttingDown() || method === "GET") return;
    throw shuttingDown();
  });
  await registerOpenApi(app, options.version);
  await app.register(systemRoutes, {
    ...options,
    // A credential that cannot be checked, such as while the database is away, counts as none.
    recognise: (authorization) => options.auth.credentials.authenticate(authorization).catch(() => undefined),
  });
  await app.register(metricsRoutes, options);
  await app.register(pageRoutes, options);
  await app.register(authRoutes, options);
  await app.register(userRoutes, options);
  await app.register(keyRoutes, options);
  await app.register(cliSessionRoutes, { auth: options.auth, publicUrl: () => baseUrl(app, options) });
  const streams = createStreams({
    most: options.maxStreams,
    mostOfOne: options.maxStreamsOfUser,
    heartbeatMs: options.heartbeatMs,
    checkMs: options.checkMs,
    maxMs: options.streamMaxMs,
    onFault: (error) => app.log.error({ err: error }, "event stream failed"),
  });
  options.metrics.observeStreams(() => streams.count());
  // Closed without an event: a broken stream has no meaning for the run. Law: error means over.
  const closing = new AbortController();
  app.addHook("preClose", async () => {
    closing.abort(shuttingDown());
    await streams.close();
  });
  await app.register(agentRoutes, options);
  await app.register(threadRoutes, options);
  await app.register(runRoutes, { ...options, streams });
  await app.register(callRoutes, { calls: options.calls, closing: closing.signal });
  await app.register(taskRoutes, options);
  await app.register(webhookRoutes, options);
  await app.register(usageRoutes, options);
  registerKnowledgeGates(app);
  await app.register(knowledgeUploadRoutes, { knowledge: options.knowledge, closing: closing.signal });
  for (const routes of [knowledgeBaseRoutes, knowledgeDocumentRoutes, knowledgeQueryRoutes])
    await app.register(routes, { ...options, closing: closing.signal });
  await app.register(agentToolRoutes, options);
  await registerDocs(app);
  return app;
}

function shuttingDown(): ApiProblem {
  return new ApiProblem("shutting_down", "the service is shutting down; try again");
}

/** Where callers reach the service. */
function baseUrl(app: FastifyInstance, { publicUrl }: AppOptions): string {
  if (publicUrl !== undefined) return publicUrl.href.replace(/\/$/, "");
  const bound = app.server.address();
  return `http://localhost:${bound === null || typeof bound === "string" ? 5050 : bound.port}`;
}
