import type { FastifyInstance } from "fastify";
import { createAgentTools } from "../agent-tools/agent-tools.ts";
import { createAgents } from "../agents/agents.ts";
import type { Auth } from "../auth/auth.ts";
import { createCalls } from "../calls/calls.ts";
import { createApp } from "../http/app.ts";
import type { Metrics } from "../http/metrics.ts";
import { createWorkerApp } from "../http/worker-app.ts";
import type { Knowledge } from "../knowledge/knowledge.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { RunEvents } from "../runs/read/events.ts";
import { lookAround } from "./readiness.ts";
import type { FinishOptions } from "../runs/state/finish.ts";
import { createRuns } from "../runs/runs.ts";
import type { Sandboxes } from "../sandboxes/sandboxes.ts";
import { sandboxFacts, warnOfSharing } from "./sandbox-sharing.ts";
import type { ServiceOptions } from "./service-options.ts";
import type { Storage } from "../storage/storage.ts";
import { createTasks } from "../tasks/tasks.ts";
import { createThreads } from "../threads/threads.ts";
import { createWebhooks } from "../webhooks/webhooks.ts";

/** What every process with a port needs. */
export interface HttpWiring {
  readonly storage: Storage;
  /** This process's own; absent in one without workers. */
  readonly sandboxes: Sandboxes | undefined;
  readonly metrics: Metrics;
  readonly knowledge: Knowledge;
  readonly warnings: readonly string[];
  readonly isShuttingDown: () => boolean;
}

export interface ApiWiring extends HttpWiring {
  readonly auth: Auth;
  readonly events: RunEvents;
  readonly finishing: FinishOptions;
  readonly outbound: Outbound;
  readonly keySecret: string;
}

/** Answers calls from now on. */
export async function startApi(options: ServiceOptions, wiring: ApiWiring): Promise<FastifyInstance> {
  const { settings, logger } = options;
  const { values } = settings;
  const { storage, auth, events, knowledge, finishing, outbound, keySecret } = wiring;
  const runs = createRuns({ storage, finishing, maxQueued: values.SERVICE_MAX_QUEUED, logger });
  const app = await createApp({
    ...httpOptions(options, wiring),
    auth,
    events,
    runs,
    calls: createCalls({ runs, events, syncWaitMs: values.SERVICE_SYNC_WAIT_MS }),
    agents: createAgents(storage),
    agentTools: createAgentTools({ storage, knowledge, keySecret, version: options.version, logger }),
    threads: createThreads(storage),
    tasks: createTasks(storage),
    webhooks: createWebhooks({ storage, outbound, keySecret, most: values.SERVICE_MAX_WEBHOOKS }),
    maxStreams: values.SERVICE_MAX_STREAMS,
    maxStreamsOfUser: values.SERVICE_MAX_STREAMS_PER_USER,
    heartbeatMs: values.SERVICE_SSE_HEARTBEAT_MS,
    checkMs: values.SERVICE_SSE_CHECK_MS,
    streamMaxMs: values.SERVICE_SSE_MAX_MS,
    ratePerCredential: values.SERVICE_RATE_PER_MINUTE,
    ratePerAddress: values.SERVICE_RATE_ANONYMOUS_PER_MINUTE,
  });
  await app.listen({ host: values.SERVICE_HOST, port: values.SERVICE_PORT });
  return app;
}

/** Health, ready and metrics of a process without an API, where a port is named for them. */
export async function startWorkerHttp(
  options: ServiceOptions,
  wiring: HttpWiring,
): Promise<FastifyInstance | undefined> {
  const { SERVICE_HOST: host, SERVICE_METRICS_PORT: port } = options.settings.values;
  if (port === undefined) return undefined;
  const app = await createWorkerApp(httpOptions(options, wiring));
  await app.listen({ host, port });
  return app;
}

function httpOptions({ settings, logger, version }: ServiceOptions, wiring: HttpWiring) {
  const { values, dataDirectory } = settings;
  const { storage, sandboxes, metrics, knowledge, isShuttingDown } = wiring;
  return {
    storage,
    metrics,
    knowledge,
    isShuttingDown,
    logger,
    version,
    hosts: [...values.SERVICE_HOSTS, ...asList(values.SERVICE_TOOLS_URL?.hostname)],
    publicUrl: values.SERVICE_PUBLIC_URL,
    corsOrigins: settings.corsOrigins,
    bodies: {
      long: values.SERVICE_MAX_BODY_BYTES,
      plain: values.SERVICE_MAX_PLAIN_BODY_BYTES,
      public: values.SERVICE_MAX_PUBLIC_BODY_BYTES,
      values: values.SERVICE_MAX_BODY_VALUES,
    },
    trustedProxies: values.SERVICE_TRUST_PROXY,
    metricsToken: settings.metricsToken,
    isLocalOnly: settings.isLocalOnly,
    info: async () => ({
      sandbox: sandboxFacts(settings),
      capabilities: ["keys", "threads", "runs", "plan_approval", "steer", "tasks", "webhooks", "knowledge"],
      limits: {
        max_body_bytes: values.SERVICE_MAX_BODY_BYTES,
        max_plain_body_bytes: values.SERVICE_MAX_PLAIN_BODY_BYTES,
        max_public_body_bytes: values.SERVICE_MAX_PUBLIC_BODY_BYTES,
        max_body_values: values.SERVICE_MAX_BODY_VALUES,
        max_queued: values.SERVICE_MAX_QUEUED,
        max_streams: values.SERVICE_MAX_STREAMS,
        max_file_bytes: values.SERVICE_KB_MAX_FILE_BYTES,
      },
      warnings: [...wiring.warnings, ...asList(await warnOfSharing(storage, settings))],
    }),
    look: () =>
      lookAround({
        storage,
        sandboxes,
        isShuttingDown,
        directory: values.DATABASE_URL === undefined ? dataDirectory : undefined,
        leaseMs: values.SERVICE_LEASE_MS,
        warnOfSharing: () => warnOfSharing(storage, settings),
        warnOfScale: () => knowledge.warnOfScale(),
      }),
  };
}

function asList(text: string | undefined): string[] {
  return text === undefined ? [] : [text];
}
