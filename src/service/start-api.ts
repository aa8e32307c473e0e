import type { FastifyInstance } from "fastify";
import { createAgents } from "./agents/agents.ts";
import type { Auth } from "./auth/auth.ts";
import { createCalls } from "./calls/calls.ts";
import { createApp } from "./http/app.ts";
import type { Check } from "./http/routes/system.ts";
import type { Outbound } from "./outbound/outbound.ts";
import type { RunEvents } from "./runs/events.ts";
import type { FinishOptions } from "./runs/finish.ts";
import { createRuns } from "./runs/runs.ts";
import type { Sandboxes } from "./sandboxes/sandboxes.ts";
import type { ServiceOptions } from "./service.ts";
import type { Storage } from "./storage/storage.ts";
import { createTasks } from "./tasks/tasks.ts";
import { createThreads } from "./threads/threads.ts";
import { createWebhooks } from "./webhooks/webhooks.ts";

export interface ApiWiring {
  readonly storage: Storage;
  readonly auth: Auth;
  readonly events: RunEvents;
  readonly finishing: FinishOptions;
  readonly sandboxes: Sandboxes | undefined;
  readonly warnings: readonly string[];
  readonly outbound: Outbound;
  readonly keySecret: string;
  readonly isShuttingDown: () => boolean;
}

/** Answers calls from now on. */
export async function startApi(
  { settings, logger, version }: ServiceOptions,
  wiring: ApiWiring,
): Promise<FastifyInstance> {
  const { values } = settings;
  const { storage, finishing, sandboxes, isShuttingDown } = wiring;
  const runs = createRuns({ storage, finishing, maxQueued: values.SERVICE_MAX_QUEUED, logger });
  const app = await createApp({
    ...wiring,
    runs,
    calls: createCalls({ runs, events: wiring.events, syncWaitMs: values.SERVICE_SYNC_WAIT_MS }),
    agents: createAgents(storage),
    threads: createThreads(storage),
    tasks: createTasks(storage),
    webhooks: createWebhooks({ ...wiring, most: values.SERVICE_MAX_WEBHOOKS }),
    logger,
    version,
    hosts: values.SERVICE_HOSTS,
    publicUrl: values.SERVICE_PUBLIC_URL,
    corsOrigins: settings.corsOrigins,
    maxBodyBytes: values.SERVICE_MAX_BODY_BYTES,
    maxStreams: values.SERVICE_MAX_STREAMS,
    heartbeatMs: values.SERVICE_SSE_HEARTBEAT_MS,
    streamMaxMs: values.SERVICE_SSE_MAX_MS,
    ratePerCredential: values.SERVICE_RATE_PER_MINUTE,
    ratePerAddress: values.SERVICE_RATE_ANONYMOUS_PER_MINUTE,
    trustedProxies: values.SERVICE_TRUST_PROXY,
    info: () => ({
      capabilities: ["keys", "threads", "runs", "plan_approval", "steer", "tasks", "webhooks"],
      limits: {
        max_body_bytes: values.SERVICE_MAX_BODY_BYTES,
        max_queued: values.SERVICE_MAX_QUEUED,
        max_streams: values.SERVICE_MAX_STREAMS,
      },
      warnings: wiring.warnings,
    }),
    look: () => lookAround(storage, sandboxes, isShuttingDown()),
  });
  await app.listen({ host: values.SERVICE_HOST, port: values.SERVICE_PORT });
  return app;
}

async function lookAround(
  storage: Storage,
  sandboxes: Sandboxes | undefined,
  isShuttingDown: boolean,
): Promise<Check[]> {
  const database = await storage.db
    .selectFrom("instance")
    .select("key")
    .limit(1)
    .execute()
    .then(
      () => ({ name: "database", ok: true }),
      () => ({ name: "database", ok: false, message: "the database does not answer" }),
    );
  return [
    database,
    ...(sandboxes === undefined ? [] : [{ name: "sandbox", ...(await sandboxes.look()) }]),
    ...(isShuttingDown ? [{ name: "running", ok: false, message: "the service is shutting down" }] : []),
  ];
}
