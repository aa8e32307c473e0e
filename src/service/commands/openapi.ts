import { tmpdir } from "node:os";
import { pino, type Logger } from "pino";
import { createAgentTools } from "../agent-tools/agent-tools.ts";
import { createAgents } from "../agents/agents.ts";
import { createAuth } from "../auth/auth.ts";
import { createCalls } from "../calls/calls.ts";
import { createApp } from "../http/app.ts";
import { createMetrics } from "../http/metrics.ts";
import { createKnowledge, type Knowledge } from "../knowledge/knowledge.ts";
import { createParser } from "../knowledge/parse/create-parser.ts";
import { createRunEvents } from "../runs/read/events.ts";
import { createRuns } from "../runs/runs.ts";
import { createOutbound } from "../outbound/outbound.ts";
import { openObjectDirectory } from "../storage/object-directory.ts";
import { openStorage, type Storage } from "../storage/storage.ts";
import { createTasks } from "../tasks/tasks.ts";
import { createThreads } from "../threads/threads.ts";
import { createWebhooks } from "../webhooks/webhooks.ts";

const MINUTE_MS = 60_000;

/** The description of the API, from an app that does not listen. */
export async function describeService(version: string): Promise<unknown> {
  const logger = pino({ level: "silent" });
  const storage = await openStorage({ engine: { kind: "pglite" }, logger, isMigrating: true, leaseMs: MINUTE_MS });
  try {
    const finishing = { storage, eventsRetentionMs: MINUTE_MS, onRunEnded: async () => undefined };
    const secret = "not a secret: nothing is signed with it";
    const runs = createRuns({ storage, finishing, maxQueued: 1, logger });
    const events = await createRunEvents(storage);
    const knowledge = await describeKnowledge(storage, logger);
    const app = await createApp({
      storage,
      logger,
      version,
      auth: createAuth({
        storage,
        jwtSecret: secret,
        keySecret: secret,
        jwtTtlMs: MINUTE_MS,
        lockout: { perName: 1, perAddress: 1, windowMs: MINUTE_MS, perNameInDay: 1 },
        onUserStopped: async () => undefined,
      }),
      agents: createAgents(storage),
      agentTools: createAgentTools({ storage, knowledge, keySecret: secret, version, logger }),
      threads: createThreads(storage),
      tasks: createTasks(storage),
      webhooks: createWebhooks({
        storage,
        outbound: createOutbound({ allow: [], nameServers: [] }),
        keySecret: secret,
        most: 0,
      }),
      runs,
      events,
      calls: createCalls({ runs, events, syncWaitMs: MINUTE_MS }),
      metrics: createMetrics(),
      metricsToken: undefined,
      isLocalOnly: false,
      heartbeatMs: MINUTE_MS,
      checkMs: MINUTE_MS,
      streamMaxMs: MINUTE_MS,
      hosts: [],
      corsOrigins: [],
      bodies: { long: 1, plain: 1, public: 1, values: 1 },
      maxStreams: 1,
      maxStreamsOfUser: 1,
      ratePerCredential: 0,
      ratePerAddress: 0,
      trustedProxies: 0,
      isShuttingDown: () => false,
      knowledge,
      info: async () => ({
        capabilities: [],
        sandbox: { kind: "static", shared_by: "all_users" },
        limits: {},
        warnings: [],
      }),
      look: async () => [],
    });
    await app.ready();
    const document: unknown = app.swagger();
    await app.close();
    return document;
  } finally {
    await storage.close();
  }
}

/** Without children: a parser starts them when there is something to parse. */
async function describeKnowledge(storage: Storage, logger: Logger): Promise<Knowledge> {
  const parser = await createParser({
    directory: tmpdir(),
    children: 1,
    timeoutMs: MINUTE_MS,
    memoryMegabytes: 1,
    outputBytes: 1,
    maxPages: 1,
    ocr: "off",
    ocrLanguages: [],
    converter: "off",
  });
  return createKnowledge({
    storage,
    logger,
    parser,
    objects: openObjectDirectory(tmpdir()),
    embedder: undefined,
    reranker: undefined,
    outbound: createOutbound({ allow: [], nameServers: [] }),
    fetchRules: { allow: [], ports: [], maxBytes: 1, timeoutMs: MINUTE_MS },
    credentials: new Map(),
    connectorMs: 1,
    limits: {
      maxFileBytes: 1,
      types: [],
      filesAtOnce: 1,
      outputBytes: 1,
      leaseMs: MINUTE_MS,
      maxIds: 1_000,
      maxChunks: 1,
      uploadsAtOnce: 1,
      uploadsOfUser: 1,
      searchesOfUser: 1,
    },
  });
}
