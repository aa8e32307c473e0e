import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { createApp, type AppOptions } from "../../../src/service/http/app.ts";
import { createMetrics } from "../../../src/service/http/metrics.ts";
import { openObjectDirectory } from "../../../src/service/storage/object-directory.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { createAgentTools } from "../../../src/service/agent-tools/agent-tools.ts";
import { createAgents } from "../../../src/service/agents/agents.ts";
import { createCalls } from "../../../src/service/calls/calls.ts";
import { createRunEvents } from "../../../src/service/runs/read/events.ts";
import { createRuns } from "../../../src/service/runs/runs.ts";
import { createOutbound } from "../../../src/service/outbound/outbound.ts";
import { createWebhooks } from "../../../src/service/webhooks/webhooks.ts";
import { createTasks } from "../../../src/service/tasks/tasks.ts";
import { createThreads } from "../../../src/service/threads/threads.ts";
import { KEY_SECRET, testAuth } from "./auth.ts";
import { makeKnowledge } from "./knowledge-room.ts";

/** What a test has otherwise. */
export type AppOverrides = Partial<AppOptions> & { readonly syncWaitMs?: number };

/** An app on a storage, without a socket. */
export async function testApp(
  storage: Storage,
  { syncWaitMs = 600_000, ...overrides }: AppOverrides = {},
): Promise<FastifyInstance> {
  const logger = pino({ level: process.env["SVC_TEST_LOG"] ?? "silent" });
  const finishing = { storage, eventsRetentionMs: 600_000, onRunEnded: async () => undefined };
  const runs = createRuns({ storage, logger, maxQueued: 5, finishing });
  const events = await createRunEvents(storage);
  const knowledge = overrides.knowledge ?? (await makeKnowledge(storage, openObjectDirectory("/nowhere")));
  return createApp({
    storage,
    auth: testAuth(storage),
    agents: createAgents(storage),
    threads: createThreads(storage),
    runs,
    events,
    calls: createCalls({ runs, events, syncWaitMs }),
    tasks: createTasks(storage),
    webhooks: createWebhooks({
      storage,
      outbound: createOutbound({ allow: [], nameServers: ["127.0.0.1:9"] }),
      keySecret: KEY_SECRET,
      most: 3,
    }),
    metrics: createMetrics(),
    metricsToken: undefined,
    isLocalOnly: true,
    heartbeatMs: 15_000,
    checkMs: 15_000,
    streamMaxMs: 600_000,
    logger,
    version: "test",
    knowledge,
    agentTools: createAgentTools({ storage, knowledge, keySecret: KEY_SECRET, version: "test", logger }),
    info: async () => ({
      capabilities: [],
      sandbox: { kind: "static", shared_by: "all_users" },
      limits: {},
      warnings: [],
    }),
    look: async () => [],
    hosts: [],
    corsOrigins: ["http://localhost:5173"],
    bodies: { long: 1_000_000, plain: 65_536, public: 16_384, values: 20_000 },
    maxStreams: 100,
    maxStreamsOfUser: 100,
    ratePerCredential: 0,
    ratePerAddress: 0,
    trustedProxies: 0,
    isShuttingDown: () => false,
    ...overrides,
  });
}

export interface Call {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls an app; bodies are JSON both ways. */
export async function call(
  app: FastifyInstance,
  method: "GET" | "POST" | "PUT" | "DELETE",
  url: string,
  body?: unknown,
  options: Call = {},
) {
  const answer = await app.inject({
    method,
    url,
    headers: {
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { payload: body as object }),
  });
  const isJson = (answer.headers["content-type"] ?? "").includes("json");
  return { status: answer.statusCode, headers: answer.headers, body: isJson ? JSON.parse(answer.body) : answer.body };
}
