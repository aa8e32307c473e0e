import { pino } from "pino";
import { createKnowledge, type Knowledge, type KnowledgeOptions } from "../../../src/service/knowledge/knowledge.ts";
import { createOutbound } from "../../../src/service/outbound/outbound.ts";
import type { Objects } from "../../../src/service/storage/objects.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { createTextParser } from "./text-parser.ts";

const LIMITS: KnowledgeOptions["limits"] = {
  maxFileBytes: 1_000_000,
  types: [],
  filesAtOnce: 2,
  outputBytes: 10_000_000,
  leaseMs: 10_000,
  maxIds: 1_000,
  maxChunks: 20_000,
  uploadsAtOnce: 2,
  uploadsOfUser: 100,
  searchesOfUser: 3,
};

/** What a test has otherwise. */
export type KnowledgeOverrides = Partial<Omit<KnowledgeOptions, "limits">> & {
  limits?: Partial<KnowledgeOptions["limits"]>;
};

/** The room, on a storage; it has nothing that a test has to end. */
export async function makeKnowledge(
  storage: Storage,
  objects: Objects,
  overrides: KnowledgeOverrides = {},
): Promise<Knowledge> {
  return createKnowledge({
    storage,
    parser: createTextParser(),
    embedder: undefined,
    reranker: undefined,
    logger: pino({ level: process.env["SVC_TEST_LOG"] ?? "silent" }),
    // Nothing may ask the machine's own name servers: port 9 of loopback does not answer.
    outbound: createOutbound({ allow: [], nameServers: ["127.0.0.1:9"] }),
    fetchRules: { allow: [], ports: [80, 443], maxBytes: 1_000_000, timeoutMs: 10_000 },
    credentials: new Map(),
    connectorMs: 30_000,
    ...overrides,
    objects,
    limits: { ...LIMITS, ...overrides.limits },
  });
}
